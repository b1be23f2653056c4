package telegramfake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/telegramfake"
)

func TestHTML(t *testing.T) {
	type e = telegramfake.Entity
	for name, c := range map[string]struct {
		source, text string
		entities     []e
		err          string
	}{
		"plain":               {source: "hi", text: "hi"},
		"escapes":             {source: "&lt;b&gt; &amp; &quot; &#65;&#x42; &nbsp; & &x;", text: "<b> & \" AB &nbsp; & &x;"},
		"nested, UTF-16":      {source: "😀<b>x<i>yé</i></b>", text: "😀xyé", entities: []e{{Type: "bold", Offset: 2, Length: 3}, {Type: "italic", Offset: 3, Length: 2}}},
		"white space trimmed": {source: " \n<b> a </b>\n", text: "a", entities: []e{{Type: "bold", Offset: 0, Length: 1}}},
		"empty entity":        {source: "a<code></code>b", text: "ab"},
		"link":                {source: `<a href="https://x.org/?a=1&amp;b">l</a>`, text: "l", entities: []e{{Type: "text_link", Length: 1, URL: "https://x.org/?a=1&b"}}},
		"case and short end":  {source: "<B>x</>", text: "x", entities: []e{{Type: "bold", Length: 1}}},
		"dropped characters":  {source: "a\r\u202eb\x01<b>c</b>", text: "ab c", entities: []e{{Type: "bold", Offset: 3, Length: 1}}},
		"unknown tag":         {source: "é<dir>", err: `Unsupported start tag "dir" at byte offset 2`},
		"bare less-than":      {source: "a < b > c", err: `Unsupported start tag "" at byte offset 2`},
		"never closed":        {source: "<b>x", err: `Can't find end tag corresponding to start tag "b"`},
		"open bracket":        {source: "a <b", err: "Unclosed start tag at byte offset 2"},
		"end alone":           {source: "x</b>", err: "Unexpected end tag at byte offset 1"},
		"crossed":             {source: "<b><i>x</b></i>", err: `Unmatched end tag at byte offset 7, expected "</i>", found "</b>"`},
		"span without class":  {source: "<span>x</span>", err: `Tag "span" must have class "tg-spoiler" at byte offset 0`},
	} {
		t.Run(name, func(t *testing.T) {
			text, entities, err := telegramfake.ParseHTML(c.source)
			if c.err != "" {
				if err == nil || err.Error() != "Bad Request: can't parse entities: "+c.err {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || text != c.text {
				t.Errorf("got %q, %v", text, err)
			}
			if diff := cmp.Diff(c.entities, entities); diff != "" {
				t.Error(diff)
			}
		})
	}
}
