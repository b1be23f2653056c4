package slack

import (
	"encoding/json"

	"github.com/slack-go/slack/socketmode"
)

// apologyFor is the truthful answer to something that could not be stored and
// that Slack does not send again: a line for whoever gave a command, a remark
// at the field of a form, which stays open. It is nil where no acknowledgement
// says it better: Slack sends events again, and marks a button that did not work.
func apologyFor(kind string, payload json.RawMessage) any {
	switch kind {
	case socketmode.RequestTypeSlashCommands:
		return map[string]string{
			"response_type": "ephemeral",
			"text":          "Holm could not store this command just now, so nothing was done. Please send it again.",
		}
	case socketmode.RequestTypeInteractive:
		var p interaction
		if json.Unmarshal(payload, &p) == nil && p.Type == "view_submission" && (p.View.CallbackID == askView || p.View.CallbackID == reviewView) {
			return map[string]any{
				"response_action": "errors",
				"errors":          map[string]string{reasonBlock: "Holm could not store this just now, so nothing was done. Please send it again."},
			}
		}
	}
	return nil
}
