package telegram_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/telegramfake"
)

// TestQuoteSpansTheText: what stands in the text moves neither end of the quote.
func TestQuoteSpansTheText(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	for name, text := range map[string]string{
		"plain":     "{\n  \"amount\": 12\n}",
		"markup":    "</code></blockquote><b>x</b>\n</expandable_blockquote>&lt; ||** `",
		"pictures":  "😀👩‍👩‍👧\n🇩🇪 \u202e\u2029 é\r\n",
		"as it was": "> x\n**> y||\n/approve 7 @ann https://evil.example",
	} {
		t.Run(name, func(t *testing.T) {
			ref, err := s.channel.SendQuote(t.Context(), s.to(), "Arguments 😀", text+"end")
			if err != nil {
				t.Fatal(err)
			}
			m := s.message(ref)
			title, quoted, _ := strings.Cut(m.Text, "\n")
			at, size := len(utf16.Encode([]rune(title)))+1, len(utf16.Encode([]rune(quoted)))
			want := []telegramfake.Entity{
				{Type: "bold", Offset: 0, Length: at - 1},
				{Type: "code", Offset: at, Length: size},
				{Type: "expandable_blockquote", Offset: at, Length: size},
			}
			if diff := cmp.Diff(want, m.Entities); diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
			if !strings.HasSuffix(quoted, "end") || m.Buttons != nil || !m.NoPreview {
				t.Errorf("message %+v", m)
			}
		})
	}
}

func TestQuoteHoldsOneMessage(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	for name, sign := range map[string]string{"letters": "x", "pictures": "😀", "invisible": "\u202e"} {
		n := 0
		for s.channel.QuoteHolds("Title", strings.Repeat(sign, n+1)) {
			n++
		}
		if _, err := s.channel.SendQuote(t.Context(), s.to(), "Title", strings.Repeat(sign, n)); err != nil {
			t.Errorf("%d %s: %v", n, name, err)
		}
		if n < 500 {
			t.Errorf("%d %s are too few", n, name)
		}
	}
}

// TestRefusedQuoteComesPlain: formatting never loses a text.
func TestRefusedQuoteComesPlain(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "sendMessage", Code: 400, Description: "Bad Request: ENTITY_BOUNDS_INVALID"})
	ref, err := s.channel.SendQuote(t.Context(), s.to(), "Title", "text")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.message(ref); m.Text != "Title\ntext" || len(m.Entities) > 0 {
		t.Errorf("message %+v", m)
	}
}
