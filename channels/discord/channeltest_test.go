package discord_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"holm/bot"
	"holm/channels/channeltest"
	"holm/internal/testkit/discordfake"
)

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) *channeltest.Harness { return harness(idle(t, discordfake.Options{})) })
}

func harness(s *setup) *channeltest.Harness {
	eve := s.fake.Person("Eve")
	people := map[string]*discordfake.Person{s.ann.Identity(): s.ann, eve.Identity(): eve}
	var mu sync.Mutex
	var last *discordfake.Interaction
	tapped := func() *discordfake.Interaction {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	message := func(t *testing.T, ref bot.MessageRef) discordfake.Message {
		t.Helper()
		for _, m := range s.fake.In(ref.Chat) {
			if m.ID == ref.Message {
				return m
			}
		}
		t.Fatalf("there is no message %+v", ref)
		return discordfake.Message{}
	}
	return &channeltest.Harness{
		Channel: s.Channel, Owner: s.ann.Identity(), Stranger: eve.Identity(), Nobody: "987654321",
		Seen: func(t *testing.T, _ string, ref bot.MessageRef) channeltest.Seen {
			m := message(t, ref)
			seen := channeltest.Seen{Text: m.Shown()}
			for _, b := range m.Buttons {
				seen.Buttons = append(seen.Buttons, bot.Button{Label: b.Label, Token: b.CustomID})
			}
			for _, raw := range []string{m.Content, m.Description} {
				if active(raw) {
					seen.Active = append(seen.Active, raw)
				}
			}
			return seen
		},
		Break: func(f channeltest.Fault) {
			fault := map[channeltest.Fault]discordfake.Fault{
				channeltest.RateLimited: {RetryAfter: channeltest.Pause},
				channeltest.Broken:      {Status: 502},
				channeltest.Lost:        {PerformFirst: true},
			}[f]
			fault.Path = "/messages"
			s.fake.Inject(fault)
		},
		Block:     func(who string) { people[who].CloseDirect() },
		Delete:    func(_ *testing.T, ref bot.MessageRef) { s.fake.Delete(ref.Message) },
		Revoke:    func() { s.fake.RevokeToken() },
		Listening: func(*testing.T) { s.fake.WaitReady(1) },
		Tap: func(t *testing.T, who string, ref bot.MessageRef, label string) {
			tap := people[who].Tap(message(t, ref), label)
			mu.Lock()
			defer mu.Unlock()
			last = tap
		},
		Confirmed: func() bool { tap := tapped(); return tap != nil && tap.Answered() },
		Redeliver: func(*testing.T) { tapped().Again() },
		Told: func(t *testing.T, _, text string) {
			if got := strings.TrimSpace(tapped().WaitText()); got != text {
				t.Errorf("told %q, want %q", got, text)
			}
		},
		Payloads: []json.RawMessage{
			[]byte(`{"type":"MESSAGE_CREATE","payload":{"id":"1","channel_id":"2","type":19,"author":{"id":"3","username":"ann"},"content":"help","mentions":[{"id":"4"}],"message_reference":{"type":0,"message_id":"5"},"referenced_message":{"author":{"id":"6"}}}}`),
			[]byte(`{"type":"INTERACTION_CREATE","payload":{"id":"1","token":"t","type":2,"application_id":"2","user":{"id":"3"},"data":{"name":"holm","options":[{"name":"say","value":"help"}]}}}`),
			[]byte(`{"type":"INTERACTION_CREATE","payload":{"id":"1","token":"t","type":5,"context":1,"member":{"user":{"id":"3"}},"data":{"custom_id":"ask:x","components":[{"components":[{"custom_id":"holm_reason","value":"why"}]}]}}}`),
		},
	}
}
