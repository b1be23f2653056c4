package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/slackfake"
	"holm/internal/testkit/telegramfake"
)

// The person who owns the agent on Telegram.
const ownerID = 700001

// open matches a card that can be answered, closed one that cannot.
func open(m telegramfake.Message) bool   { return len(m.Buttons) > 0 }
func closed(m telegramfake.Message) bool { return len(m.Buttons) == 0 }

func shows(text string) func(telegramfake.Message) bool {
	return func(m telegramfake.Message) bool { return closed(m) && strings.Contains(m.Text, text) }
}

// withTelegram starts the fake with the owner's chat, and gives the settings that
// make holm use it.
func withTelegram(t *testing.T) (*telegramfake.Server, *telegramfake.Person, []string) {
	t.Helper()
	telegram := telegramfake.New(t, telegramfake.Options{Patience: patience, AllowHTTP: true, QueryLife: patience})
	owner := telegram.PersonWithID(ownerID, "Olga").Open()
	return telegram, owner, []string{
		"HOLM_TELEGRAM_TOKEN=" + telegram.Token(), "HOLM_TELEGRAM_API_URL=" + telegram.URL(),
		fmt.Sprintf("HOLM_OWNERS=telegram:%d", ownerID),
	}
}

// TestWalk follows docs/walkthrough.md stop by stop.
func TestWalk(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newEmbedded(t, env...)
	telegram.WaitPoll()
	key, seen := p.setUp("main")

	// 1. A call arrives with a bearer key, in a session.
	session := p.connect(key, "60s")
	events := p.stream("main", key, "mcp:"+session.ID())
	args := map[string]any{"amount": 49.9, "order": "1042"}
	done := later(t.Context(), session, args)

	// 2–5. Policy wants approval; the request and its event are committed.
	var requested struct {
		RequestID, ResourceKey, Mode string
		ShortID                      int
		Args                         map[string]any
	}
	e := p.nextEvent(events, "approval_requested")
	e.payload(t, &requested)
	if requested.ResourceKey != "mcp__fix__record" || requested.Mode != "async" || requested.Args["order"] != "1042" {
		t.Errorf("approval_requested: %s", e.Data)
	}

	// 6. The caller waits. 7. The card reaches the owner's direct chat.
	card := telegram.WaitMessage(ownerID, open)
	for _, want := range []string{"mcp__fix__record", "1042", "49.9", "agent main"} {
		if !strings.Contains(card.Text, want) {
			t.Errorf("the card lacks %q:\n%s", want, card.Text)
		}
	}
	select {
	case got := <-done:
		t.Fatalf("the call returned before the decision: %+v", got)
	default:
	}
	if ran := seen(); ran != nil {
		t.Fatalf("the upstream saw %v before the decision", ran)
	}

	// 8. The owner taps.
	toast := telegram.WaitAnswer(owner.Click(card, "Approve this call"))
	if toast.Text == "" {
		t.Error("the tap got no text")
	}

	// 9. The call goes upstream once, and its caller has the result.
	if got := p.within(done); got.Err != nil || got.Failed {
		t.Fatalf("the call: %+v\n%s", got, p.log)
	}
	if diff := cmp.Diff([]string{`{"amount":49.9,"order":"1042"}`}, seen()); diff != "" {
		t.Error(diff)
	}
	var resolved struct{ RequestID, Decision, Resolution string }
	e = p.nextEvent(events, "approval_resolved")
	e.payload(t, &resolved)
	if resolved.RequestID != requested.RequestID || resolved.Decision != "approved" || resolved.Resolution != "single" {
		t.Errorf("approval_resolved: %s", e.Data)
	}
	p.nextEvent(events, "approval_executed")
	final := telegram.WaitMessage(ownerID, shows("succeeded"))
	if final.ID != card.ID {
		t.Errorf("the outcome stands in message %d, the card was %d", final.ID, card.ID)
	}
	if !strings.Contains(final.Text, "Olga") {
		t.Errorf("the card does not say who decided:\n%s", final.Text)
	}
	telegram.Settle()
}

// TestWalkOnSlack is the same round with the other platform.
func TestWalkOnSlack(t *testing.T) {
	slack := slackfake.New(t, slackfake.Options{})
	owner := slack.Person("olga")
	app := slack.App(0)
	p := newProcess(t, "HOLM_SLACK_BOT_TOKEN="+app.BotToken, "HOLM_SLACK_APP_TOKEN="+app.AppToken,
		"HOLM_SLACK_API_URL="+slack.APIURL(), "HOLM_OWNERS=slack:"+owner.Identity())
	slack.WaitSockets(0, 1)
	key, seen := p.setUp("main")
	session := p.connect(key, "60s")
	events := p.stream("main", key, "mcp:"+session.ID())
	done := later(t.Context(), session, map[string]any{"order": "1042"})

	owner.WaitMessage("an open card", func(m slackfake.Message) bool { return len(m.Buttons()) > 0 })
	owner.Click("Approve this call").Acked()
	if got := p.within(done); got.Err != nil || got.Failed {
		t.Fatalf("the call: %+v\n%s", got, p.log)
	}
	if diff := cmp.Diff([]string{`{"order":"1042"}`}, seen()); diff != "" {
		t.Error(diff)
	}
	p.nextEvent(events, "approval_resolved")
	owner.WaitMessage("the outcome", func(m slackfake.Message) bool {
		return len(m.Buttons()) == 0 && strings.Contains(string(mustJSON(t, m.Blocks)), "succeeded")
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWalkAsync is the round of a caller that does not wait.
func TestWalkAsync(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newProcess(t, env...)
	telegram.WaitPoll()
	key, seen := p.setUp("main")
	session := p.connect(key, "0s")

	approved := map[string]any{"n": 1}
	if got := call(t.Context(), session, approved); got.Kind != "APPROVAL_REQUIRED" || !strings.Contains(got.Text, "same arguments") {
		t.Fatalf("first call: %+v", got)
	}
	card := telegram.WaitMessage(ownerID, open)
	telegram.WaitAnswer(owner.Click(card, "Approve this call"))
	first, second := call(t.Context(), session, approved), call(t.Context(), session, approved)
	if first.Err != nil || first.Failed || first != second {
		t.Errorf("retries: %+v and %+v, want one result twice", first, second)
	}
	if ran := seen(); len(ran) != 1 {
		t.Errorf("ran %v, want once", ran)
	}
	telegram.WaitMessage(ownerID, shows("succeeded"))

	rejected := map[string]any{"n": 2}
	call(t.Context(), session, rejected)
	card = telegram.WaitMessage(ownerID, open)
	telegram.WaitAnswer(owner.Click(card, "Reject"))
	if got := call(t.Context(), session, rejected); got.Kind != "APPROVAL_REJECTED" {
		t.Errorf("after the rejection: %+v", got)
	}
	if ran := seen(); len(ran) != 1 {
		t.Errorf("ran %v, want nothing more", ran)
	}
	telegram.Settle()
}
