package e2e

import (
	"strings"
	"testing"
	"time"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

// withSlack gives a Slack with the owner Olga, and the settings that connect
// Holm to it by signed HTTP.
func withSlack(t *testing.T) (*slackfake.Server, *slackfake.Person, []string) {
	t.Helper()
	slack := slackfake.New(t, slackfake.Options{AckTimeout: patience, TriggerLife: patience, RetryDelays: []time.Duration{0, time.Second, time.Second}})
	owner, app := slack.Person("olga"), slack.App(0)
	return slack, owner, []string{
		"HOLM_SLACK_MODE=events", "HOLM_SLACK_BOT_TOKEN=" + app.BotToken, "HOLM_SLACK_SIGNING_SECRET=" + app.SigningSecret,
		"HOLM_SLACK_API_URL=" + slack.APIURL(), "HOLM_OWNERS=slack:" + owner.Identity(),
	}
}

// TestSlackCallsAnyReplica: what Slack sends to one process is handled whoever
// it is, also when the first one has died meanwhile.
func TestSlackCallsAnyReplica(t *testing.T) {
	slack, owner, env := withSlack(t)
	a, b := newReplicas(t, env...)
	slack.CallAt(0, a.url+bot.WebhookPath("main", "slack"))
	key, seen := a.setUp("main")

	held := later(t.Context(), a.connect(key, "60s"), map[string]any{"n": 1})
	owner.Click("Approve this call").Acked()
	if got := a.within(held); got.Text != "recorded" {
		t.Errorf("approved through the process that holds the call: %+v", got)
	}

	held = later(t.Context(), b.connect(key, "60s"), map[string]any{"n": 2})
	owner.WaitMessage("the card of request 2", func(m slackfake.Message) bool { return strings.Contains(m.Shown(), "#2") && len(m.Buttons()) > 0 })
	a.kill()
	slack.CallAt(0, b.url+bot.WebhookPath("main", "slack"))
	owner.Click("Approve this call").Acked()
	if got := b.within(held); got.Text != "recorded" {
		t.Errorf("approved after the other process died: %+v", got)
	}
	if ran := seen(); len(ran) != 2 {
		t.Errorf("ran %v, want each once", ran)
	}
	owner.WaitMessage("the outcome", func(m slackfake.Message) bool {
		return strings.Contains(m.Shown(), "#2") && strings.Contains(m.Shown(), "succeeded")
	})
}

// TestSlackForms: a call too long for its card is approved from a form that
// shows all of it, and another is rejected with a reason written in one.
func TestSlackForms(t *testing.T) {
	slack, owner, env := withSlack(t)
	p := newProcess(t, env...)
	slack.CallAt(0, p.url+bot.WebhookPath("main", "slack"))
	key, seen := p.setUp("main")
	session := p.connect(key, "60s")

	long := strings.Repeat("all work and no play ", 1000) + "the end"
	held := later(t.Context(), session, map[string]any{"text": long})
	owner.Click("Review…").Acked()
	form := owner.WaitModal("the form", func(v slackfake.View) bool { return strings.Contains(v.Shown(), "the end") })
	if n := strings.Count(form.Shown(), "all work and no play"); n < 990 {
		t.Errorf("the form shows %d of 1000 sentences", n)
	}
	owner.Submit(map[string]string{"Decision": "Approve this call"}).Acked()
	if got := p.within(held); got.Text != "recorded" {
		t.Errorf("approved from the form: %+v", got)
	}

	held = later(t.Context(), session, map[string]any{"n": 2})
	second := owner.WaitMessage("the card of request 2", func(m slackfake.Message) bool { return strings.Contains(m.Shown(), "#2") && len(m.Buttons()) > 0 })
	owner.ClickIn(second, "Reject with reason…").Acked() // the first card may have that button still
	owner.WaitModal("the question", func(v slackfake.View) bool { return v.Title == "Reject request #2" })
	owner.Submit(map[string]string{"Reason": "not on a Friday"}).Acked()
	if got := p.within(held); !strings.Contains(got.Text, "not on a Friday") {
		t.Errorf("rejected with a reason: %+v", got)
	}
	owner.WaitMessage("the reason on the card", func(m slackfake.Message) bool {
		return strings.Contains(m.Shown(), "#2") && strings.Contains(m.Shown(), "not on a Friday")
	})
	if ran := seen(); len(ran) != 1 {
		t.Errorf("ran %d calls, want the approved one", len(ran))
	}
}
