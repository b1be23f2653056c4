package slack

import (
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// WritesTimes implements bot.Dater: Slack shows a date in its reader's zone.
func (c *Channel) WritesTimes() {}

// dated is text with its times as write gives them, and all else as show does.
func dated(text string, show func(string) string, write func(unix int64, utc string) string) string {
	texts, times := bot.Times(text)
	var b strings.Builder
	for i, part := range texts {
		b.WriteString(show(part))
		if i < len(times) {
			b.WriteString(write(times[i].Unix(), bot.Clock{}.At(times[i])))
		}
	}
	return b.String()
}

// asIs leaves the rest of a text to who shows it.
func asIs(s string) string { return s }

// inUTC is text with its times in words, for where Slack writes none.
func inUTC(text string) string {
	return dated(text, asIs, func(_ int64, utc string) string { return utc })
}

// textObject is a line of the card. One with a time is mrkdwn, where dates are
// written; should anything else in it have a meaning there, it goes without dates.
func textObject(line string) *slackgo.TextBlockObject {
	if _, times := bot.Times(line); len(times) == 0 {
		return plainText(line)
	}
	if strings.ContainsAny(inUTC(line), "*_~`") {
		return plainText(inUTC(line))
	}
	text := dated(line, escape, func(unix int64, utc string) string {
		return fmt.Sprintf("<!date^%d^{date_short_pretty} at {time}|%s>", unix, utc)
	})
	return slackgo.NewTextBlockObject(slackgo.MarkdownType, text, false, true)
}

// dateCost is what a time adds to a text, beside its digits.
const dateCost = 60
