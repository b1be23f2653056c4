package slack_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"holm/bot"
	"holm/channels/channeltest"
	"holm/internal/testkit/slackfake"
)

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) *channeltest.Harness { return harness(idle(t, slackfake.Options{})) })
}

func harness(s *setup) *channeltest.Harness {
	ann, eve := s.fake.Person("ann"), s.fake.Person("eve")
	people := map[string]*slackfake.Person{ann.Identity(): ann, eve.Identity(): eve}
	var mu sync.Mutex
	var last *slackfake.Sent
	tapped := func() *slackfake.Sent {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	message := func(t *testing.T, ref bot.MessageRef) slackfake.Message {
		t.Helper()
		for _, m := range s.fake.Transcript(ref.Chat) {
			if m.TS == ref.Message {
				return m
			}
		}
		t.Fatalf("there is no message %+v", ref)
		return slackfake.Message{}
	}
	return &channeltest.Harness{
		Channel: s.Channel, Owner: ann.Identity(), Stranger: eve.Identity(), Nobody: ann.Team() + "/U0NOBODY",
		Seen: func(t *testing.T, _ string, ref bot.MessageRef) channeltest.Seen { return seen(message(t, ref)) },
		Break: func(f channeltest.Fault) {
			fault := map[channeltest.Fault]slackfake.Fault{
				channeltest.RateLimited: {RetryAfter: channeltest.Pause},
				channeltest.Broken:      {Status: 502, HTML: "<html>bad gateway</html>"},
				channeltest.Lost:        {PerformFirst: true},
			}[f]
			fault.Match = func(params map[string]string) bool { return params["channel"] != "" }
			s.fake.Inject(fault)
		},
		Block:     func(who string) { people[who].Deactivate() },
		Revoke:    func() { s.fake.RevokeBotToken(0) },
		Listening: func(*testing.T) { s.fake.WaitSockets(0, 1) },
		Tap: func(t *testing.T, who string, ref bot.MessageRef, label string) {
			m := message(t, ref)
			var sent *slackfake.Sent
			if who == ann.Identity() {
				sent = ann.ClickIn(m, label)
			} else {
				sent = ann.ClickAs(people[who], label)
			}
			mu.Lock()
			defer mu.Unlock()
			last = sent
		},
		Confirmed: func() bool {
			sent := tapped()
			return sent != nil && len(sent.Deliveries()) > 0 && !sent.Deliveries()[0].Acked.IsZero()
		},
		Redeliver: func(*testing.T) { tapped().Again() },
		Told: func(t *testing.T, who, text string) {
			if got := people[who].WaitEphemerals(1); !strings.Contains(got[len(got)-1].Shown(), text) {
				t.Errorf("told %q, want %q", got[len(got)-1].Shown(), text)
			}
		},
		Payloads: []json.RawMessage{
			[]byte(`{"type":"events_api","payload":{"event":{"type":"message","channel_type":"im","user":"U1","text":"help","ts":"1.1","channel":"D1"},"team_id":"T1","event_id":"Ev1"}}`),
			[]byte(`{"type":"slash_commands","payload":{"command":"/holm","text":"help","user_id":"U1","team_id":"T1","channel_id":"C1"}}`),
			[]byte(`{"type":"interactive","payload":{"type":"view_submission","user":{"id":"U1","team_id":"T1"},"team":{"id":"T1"},"view":{"private_metadata":"x","state":{"values":{"a":{"b":{"value":"c"}}}}}}}`),
		},
	}
}

// seen reads a message: all its texts have to be plain, where nothing is active.
func seen(m slackfake.Message) channeltest.Seen {
	out := channeltest.Seen{Text: m.Shown()}
	for _, b := range m.Buttons() {
		out.Buttons = append(out.Buttons, bot.Button{Label: b.Label, Token: b.Value})
	}
	for _, block := range m.Blocks {
		if strings.Contains(string(block), `"mrkdwn"`) || strings.Contains(string(block), `"markdown"`) {
			out.Active = append(out.Active, string(block))
		}
	}
	return out
}
