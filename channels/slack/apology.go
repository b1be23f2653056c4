package slack

import (
	"encoding/json"

	"github.com/slack-go/slack/socketmode"
)

// apologyFor is the truthful answer to something that could not be stored and
// that Slack does not send again; nil where leaving it unacknowledged says it
// better: Slack sends events again, and marks a button that did not work.
func apologyFor(kind string, _ json.RawMessage) any {
	if kind == socketmode.RequestTypeSlashCommands {
		return map[string]string{
			"response_type": "ephemeral",
			"text":          "Holm could not store this command just now, so nothing was done. Please send it again.",
		}
	}
	return nil
}
