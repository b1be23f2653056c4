package telegram_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"holm/bot"
	"holm/channels/channeltest"
	"holm/internal/testkit/telegramfake"
)

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) *channeltest.Harness {
		s := newSetup(t, telegramfake.Options{AllowUnconfirmed: true, AllowUnanswered: true})
		stranger := s.tg.Person("Eve").Open()
		people := map[string]*telegramfake.Person{id(s.owner): s.owner, id(stranger): stranger}
		var mu sync.Mutex
		var last telegramfake.Tap
		tapped := func() telegramfake.Tap {
			mu.Lock()
			defer mu.Unlock()
			return last
		}
		return &channeltest.Harness{
			Channel: s.channel, Owner: id(s.owner), Stranger: id(stranger), Nobody: "987654321",
			Seen: func(_ *testing.T, _ string, ref bot.MessageRef) channeltest.Seen { return seen(s.message(ref)) },
			Break: func(f channeltest.Fault) {
				s.tg.Inject(map[channeltest.Fault]telegramfake.Fault{
					channeltest.RateLimited: {Code: 429, Description: "Too Many Requests", RetryAfter: int(channeltest.Pause.Seconds())},
					channeltest.Broken:      {HTML: true},
					channeltest.Lost:        {PerformFirst: true, Drop: true},
				}[f])
			},
			Block:  func(who string) { people[who].Block() },
			Delete: func(_ *testing.T, ref bot.MessageRef) { s.owner.Delete(s.message(ref)) },
			Revoke: func() { s.tg.RevokeToken() },
			Listening: func(*testing.T) {
				s.tg.WaitPoll()
			},
			Tap: func(_ *testing.T, who string, ref bot.MessageRef, label string) {
				m := s.message(ref)
				var tap telegramfake.Tap
				if who == id(s.owner) {
					tap = s.owner.Click(m, label)
				} else {
					button, _ := m.Button(label)
					tap = people[who].ClickForged(seesToo(s, people[who]), button.Data)
				}
				mu.Lock()
				defer mu.Unlock()
				last = tap
			},
			Confirmed: func() bool { return tapped().UpdateID != 0 && !s.tg.Confirmed(tapped().UpdateID).IsZero() },
			Redeliver: func(*testing.T) { s.tg.Redeliver(tapped().UpdateID) },
			Told: func(t *testing.T, _, text string) {
				if got := s.tg.WaitAnswer(tapped()); got.Text != text {
					t.Errorf("told %q, want %q", got.Text, text)
				}
			},
			Payloads: []json.RawMessage{
				[]byte(`{"update_id":1,"message":{"message_id":1,"date":1,"from":{"id":7,"first_name":"A"},"chat":{"id":7,"type":"private"},"text":"/help"}}`),
				[]byte(`{"update_id":2,"my_chat_member":{"from":{"id":7,"first_name":"A"},"date":1,"chat":{"id":7,"type":"private"},"old_chat_member":{"status":"member","user":{"id":1}},"new_chat_member":{"status":"kicked","user":{"id":1}}}}`),
			},
		}
	})
}

// seesToo is a message in somebody else's own chat.
func seesToo(s *setup, who *telegramfake.Person) telegramfake.Message {
	s.t.Helper()
	ref, err := s.channel.Send(s.t.Context(), bot.Recipient{Identity: id(who)}, card())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.tg.WaitMessage(who.ID, func(m telegramfake.Message) bool { return strconv.FormatInt(m.ID, 10) == ref.Message })
}

// tappable is what apps make something of: commands, mentions, tags, addresses.
var tappable = regexp.MustCompile(`(^|[^\pL\pN])[/@#][\pL\pN_]+|[a-z]+://\S+|[a-z]+\.(example|com)\b`)

func seen(m telegramfake.Message) channeltest.Seen {
	out := channeltest.Seen{Text: m.Text}
	for _, row := range m.Buttons {
		for _, b := range row {
			out.Buttons = append(out.Buttons, bot.Button{Label: b.Text, Token: b.Data})
		}
	}
	// What stands in code is left alone.
	units := utf16.Encode([]rune(m.Text))
	for _, e := range m.Entities {
		switch e.Type {
		case "code", "pre":
			for i := e.Offset; i < e.Offset+e.Length; i++ {
				units[i] = 'x'
			}
		case "bold", "italic", "blockquote", "expandable_blockquote":
		default:
			out.Active = append(out.Active, e.Type)
		}
	}
	rest := string(utf16.Decode(units))
	// The card's own number is no tag.
	rest = strings.ReplaceAll(rest, "#7", "")
	out.Active = append(out.Active, tappable.FindAllString(rest, -1)...)
	return out
}
