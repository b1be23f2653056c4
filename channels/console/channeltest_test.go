package console_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"holm/bot"
	"holm/channels/channeltest"
	"holm/channels/console"
)

// keyOf are the keys of the suite's buttons.
var keyOf = map[string]string{channeltest.Approve: "a", channeltest.Reject: "r"}

// TestChannel: a terminal shows lines, one below the other; what a person sees
// of a card is what was printed last.
func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) *channeltest.Harness {
		in, keys, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = keys.Close(), in.Close() })
		out := &screen{}
		ch, err := console.New(console.Config{In: in, Out: out})
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		return &channeltest.Harness{
			Channel: ch, Owner: "you", Nobody: "somebody",
			Seen: func(*testing.T, string, bot.MessageRef) channeltest.Seen {
				all := out.String()
				seen := channeltest.Seen{Text: all[read:]}
				read = len(all)
				for _, label := range []string{channeltest.Approve, channeltest.Reject} {
					if strings.Contains(seen.Text, "["+keyOf[label]+"] "+label) {
						seen.Buttons = append(seen.Buttons, bot.Button{Label: label})
					}
				}
				return seen
			},
			Listening: func(*testing.T) {},
			Tap: func(t *testing.T, _ string, _ bot.MessageRef, label string) {
				if _, err := io.WriteString(keys, keyOf[label]+"\n"); err != nil {
					t.Error(err)
				}
			},
			Told: func(t *testing.T, _, text string) {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q was not printed", text)
				}
			},
		}
	})
}
