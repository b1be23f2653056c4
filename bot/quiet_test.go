package bot_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/policy"
)

func TestMutedCardsComeSilentlyAndHighRiskRings(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	silent := func(who string, r approvals.Request) bool {
		m := w.card(who, r)
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		return m.card.Silent
	}
	contains(t, w.says("ann", "mute 1h"), "silently until")
	r := w.ask(`{"n":1}`)
	if !silent("ann", r) || silent("bob", r) {
		t.Error("mute holds for the wrong person")
	}
	risky := w.askAs("main", "agent:main", `{"n":2}`, &policy.ApprovalSettings{Risk: policy.RiskHigh})
	if silent("ann", risky) {
		t.Error("a card of high risk came silently")
	}
	reminder := func(r approvals.Request) (silent bool) {
		w.poll("the card is noted as sent", func() bool {
			state, _, _ := w.delivery("ann", r)
			return state == "sent"
		})
		if err := w.svc.Remind(w.ctx, r.ID, 1); err != nil {
			t.Fatal(err)
		}
		w.see("a reminder", func() bool {
			for _, m := range w.chat.messages {
				if m.to.Identity == "ann" && strings.HasPrefix(m.card.Head, fmt.Sprintf("⏰ Request #%d", r.ShortID)) {
					silent = m.card.Silent
					return true
				}
			}
			return false
		})
		return silent
	}
	if !reminder(r) || reminder(risky) {
		t.Error("reminders do not ring as their cards do")
	}
	contains(t, w.says("ann", "whoami"), "Cards come silently until")
	contains(t, w.says("ann", "mute off"), "ring again")
	if silent("ann", w.ask(`{"n":3}`)) {
		t.Error("still muted")
	}
}

func TestQuietHoursHoldInTheirZone(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	now := time.Now().In(time.FixedZone("", 3*3600))
	around := now.Add(-2*time.Hour).Format("15:04") + "-" + now.Add(2*time.Hour).Format("15:04")
	contains(t, w.says("ann", "quiet "+around+" +03:00"), "silently each day from "+around[:5], "+03:00")
	contains(t, w.says("ann", "whoami"), "+03:00")
	first := w.card("ann", w.ask(`{"n":1}`))
	contains(t, w.says("ann", "quiet "+around+" +11:00"), "+11:00")
	second := w.card("ann", w.ask(`{"n":2}`))
	w.chat.mu.Lock()
	if !first.card.Silent || second.card.Silent {
		t.Errorf("silent: %v in the hours, %v outside", first.card.Silent, second.card.Silent)
	}
	w.chat.mu.Unlock()
	contains(t, w.says("ann", "quiet 22:00-07:00 Europe/Oslo"), "from 22:00 to 07:00 Europe/Oslo")
	contains(t, w.says("ann", "quiet off"), "no quiet hours")
	if text := w.says("ann", "whoami"); strings.Contains(text, "silently") {
		t.Errorf("whoami says %q", text)
	}
	for line, want := range map[string]string{
		"mute":                       "For how long?",
		"mute -1h":                   "For how long?",
		"mute 1000h":                 "longer than a week",
		"quiet":                      "When?",
		"quiet 22:00":                "two different times",
		"quiet 25:00-07:00":          "two different times",
		"quiet 07:00-07:00":          "two different times",
		"quiet 22:00-07:00 Mars":     "no time zone “Mars”",
		"quiet 22:00-07:00 Local":    "no time zone “Local”",
		"quiet 22:00-07:00 UTC more": "When?",
	} {
		contains(t, w.says("ann", line), want, "Usage: ")
	}
}

// TestNewsOfARequestComeSilentlyInQuietTime: what somebody is told of a request of
// their own wakes them no more than a card.
func TestNewsOfARequestComeSilentlyInQuietTime(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.owner("ann"), w.owner("bob")
	w.says("ann", "mute 1h")
	quiet := w.askAs("main", ann, `{"n":1}`, &policy.ApprovalSettings{Quorum: 2})
	risky := w.askAs("main", ann, `{"n":2}`, &policy.ApprovalSettings{Quorum: 2, Risk: policy.RiskHigh})
	for r, want := range map[*approvals.Request]bool{&quiet: true, &risky: false} {
		w.decide(*r, bob, false)
		var silent bool
		w.see("the rejection", func() bool {
			for _, m := range w.chat.messages {
				if m.to.Identity == "ann" && strings.HasPrefix(m.card.Head, fmt.Sprintf("Request #%d (", r.ShortID)) {
					silent = m.card.Silent
					return true
				}
			}
			return false
		})
		if silent != want {
			t.Errorf("news of #%d came silently: %v, want %v", r.ShortID, silent, want)
		}
	}
}
