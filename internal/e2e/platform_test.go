package e2e

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"holm/internal/testkit/slackfake"
	"holm/internal/testkit/telegramfake"
)

// TestTelegramFailsOnTheWay: Telegram fails once at each message of a round. The
// tap counts, the call runs once, and what the owner has in the end is true.
func TestTelegramFailsOnTheWay(t *testing.T) {
	for name, fault := range map[string]telegramfake.Fault{
		"busy":       {Code: http.StatusTooManyRequests, Description: "Too Many Requests: retry after 1", RetryAfter: 1},
		"broken":     {HTML: true},
		"cut":        {Drop: true},
		"done, lost": {Drop: true, PerformFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			telegram, owner, env := withTelegram(t)
			for _, method := range []string{"sendMessage", "editMessageText", "answerCallbackQuery"} {
				f := fault
				f.Method = method
				telegram.Inject(f)
			}
			p := newProcess(t, env...)
			telegram.WaitPoll()
			key, seen := p.setUp("main")
			held := later(t.Context(), p.connect(key, "60s"), map[string]any{"n": 1})

			card := telegram.WaitMessage(ownerID, open)
			tap := owner.Click(card, "Approve this call")
			if got := p.within(held); got.Text != "recorded" {
				t.Errorf("the call: %+v", got)
			}
			if toast := telegram.WaitAnswer(tap); !strings.Contains(toast.Text, "Approved once") {
				t.Errorf("the tap was answered %q", toast.Text)
			}
			telegram.WaitMessage(ownerID, shows("succeeded"))
			// A card of which nobody knows where it is waits for its tap.
			for _, left := range telegram.Transcript(ownerID) {
				if open(left) {
					telegram.WaitAnswer(owner.Click(left, "Approve this call"))
				}
			}
			telegram.Settle()
			all := telegram.Transcript(ownerID)
			if len(all) > 1 && name != "done, lost" || len(all) > 2 {
				t.Errorf("the owner has %d cards", len(all))
			}
			for _, m := range all {
				if open(m) || !strings.Contains(m.Text, "succeeded") && !strings.Contains(m.Text, "second copy") {
					t.Errorf("at the end a card shows\n%s", m.Text)
				}
			}
			if ran := seen(); len(ran) != 1 {
				t.Errorf("ran %v, want once", ran)
			}
		})
	}
}

// TestSlackFailsOnTheWay is the same round on Slack.
func TestSlackFailsOnTheWay(t *testing.T) {
	for name, fault := range map[string]slackfake.Fault{
		"busy":       {RetryAfter: time.Second},
		"broken":     {Status: http.StatusBadGateway, HTML: "<html>bad gateway</html>"},
		"cut":        {Drop: true},
		"done, lost": {PerformFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := slackfake.New(t, slackfake.Options{})
			owner := slack.Person("olga")
			app := slack.App(0)
			for _, method := range []string{"chat.postMessage", "chat.update"} {
				f := fault
				f.Method = method
				slack.Inject(f)
			}
			p := newProcess(t, "HOLM_SLACK_BOT_TOKEN="+app.BotToken, "HOLM_SLACK_APP_TOKEN="+app.AppToken,
				"HOLM_SLACK_API_URL="+slack.APIURL(), "HOLM_OWNERS=slack:"+owner.Identity())
			slack.WaitSockets(0, 1)
			key, seen := p.setUp("main")
			held := later(t.Context(), p.connect(key, "60s"), map[string]any{"n": 1})

			open := func(m slackfake.Message) bool { return len(m.Buttons()) > 0 }
			succeeded := func(m slackfake.Message) bool { return !open(m) && strings.Contains(m.Shown(), "succeeded") }
			owner.WaitMessage("an open card", open)
			owner.Click("Approve this call").Acked()
			if got := p.within(held); got.Text != "recorded" {
				t.Errorf("the call: %+v", got)
			}
			owner.WaitMessage("the outcome", succeeded)
			for _, left := range owner.Messages() {
				if open(left) {
					owner.ClickIn(left, "Approve this call").Acked()
				}
			}
			p.eventually(func() error {
				for _, m := range owner.Messages() {
					if open(m) {
						return errors.New("a card is open")
					}
				}
				return nil
			})
			all := owner.Messages()
			if len(all) > 1 && name != "done, lost" || len(all) > 2 {
				t.Errorf("the owner has %d cards", len(all))
			}
			for _, m := range all {
				if !succeeded(m) && !strings.Contains(m.Shown(), "second copy") {
					t.Errorf("at the end a card shows\n%s", m.Shown())
				}
			}
			if ran := seen(); len(ran) != 1 {
				t.Errorf("ran %v, want once", ran)
			}
		})
	}
}
