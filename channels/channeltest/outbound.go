package channeltest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"holm/bot"
)

func (h *Harness) send(t *testing.T, c bot.Card) bot.MessageRef {
	t.Helper()
	ref, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Owner}, c)
	if err != nil {
		t.Fatalf("Send: %v", err)
	}
	return ref
}

// sees sends a card and gives what its recipient sees.
func (h *Harness) sees(t *testing.T, c bot.Card) Seen {
	t.Helper()
	if h.Seen == nil {
		t.Skip("nobody can look at this platform's messages")
	}
	return h.Seen(t, h.Owner, h.send(t, c))
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not seen in %q", part, text)
		}
	}
}

var namespaceForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

func saysWhatItIs(t *testing.T, h *Harness) {
	c := h.Channel
	if !namespaceForm.MatchString(c.Namespace()) {
		t.Errorf("namespace %q", c.Namespace())
	}
	if l := c.Limits(); l.Value <= 0 || l.Total < l.Value || l.ButtonRow <= 0 {
		t.Errorf("limits %+v", l)
	}
	if h := c.Health(); !h.LastEvent.IsZero() {
		t.Errorf("something came before Run: %+v", h)
	}
	if linker, ok := c.(bot.Linker); ok {
		link, hint := linker.LinkFor(t.Context(), "the-one-time-token-of-a-test")
		if !strings.Contains(link+hint, "the-one-time-token-of-a-test") {
			t.Errorf("the link %q and the hint %q lack the token", link, hint)
		}
	}
	if asker, ok := c.(bot.Asker); ok {
		_ = asker.AsksAtOnce()
	}
	if reviewer, ok := c.(bot.Reviewer); ok && !reviewer.Holds(Card()) {
		t.Error("the form has no room for a small card")
	}
}

func showsACard(t *testing.T, h *Harness) {
	c := Card()
	seen := h.sees(t, c)
	has(t, seen.Text, c.Head, c.Notes[0])
	for _, f := range c.Facts {
		has(t, seen.Text, f.Label, f.Value)
	}
	for _, a := range c.Args {
		has(t, seen.Text, a.Name, a.Value)
	}
	sameButtons(t, seen.Buttons, slices.Concat(c.Buttons...))
}

// sameButtons wants labels and tokens in their order; tokens byte by byte.
func sameButtons(t *testing.T, got, want []bot.Button) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d buttons are seen, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i].Label != want[i].Label || got[i].Token != "" && got[i].Token != want[i].Token {
			t.Errorf("button %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func editsACard(t *testing.T, h *Harness) {
	ref := h.send(t, Card())
	if h.Seen != nil {
		_ = h.Seen(t, h.Owner, ref)
	}
	for _, again := range []string{"first", "same once more"} {
		if err := h.Channel.Update(t.Context(), ref, closed()); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if h.Seen == nil {
			continue
		}
		seen := h.Seen(t, h.Owner, ref)
		has(t, seen.Text, "Approved · #7", "Olga approved it.")
		if len(seen.Buttons) != 0 {
			t.Errorf("%s: a closed card has buttons: %+v", again, seen.Buttons)
		}
	}
}

func showsAMessage(t *testing.T, h *Harness) {
	seen := h.sees(t, bot.Card{Head: "the first line\nthe second line"})
	has(t, seen.Text, "the first line", "the second line")
	if len(seen.Buttons) != 0 {
		t.Errorf("a message has buttons: %+v", seen.Buttons)
	}
}

// showsWhatTheLimitsAllow fills a card as the renderer does: nothing may be cut.
func showsWhatTheLimitsAllow(t *testing.T, h *Harness) {
	small := h.sees(t, Card())
	l := h.Channel.Limits()
	c := Card()
	c.Args = nil
	room := l.Total - 600 // the rest of the card
	for i := 0; room >= 200; i++ {
		name := fmt.Sprintf("argument%d", i)
		n := min(l.Value, room-len(name)-20)
		c.Args = append(c.Args, bot.Arg{Name: name, Value: strings.Repeat(string(rune('a'+i%20)), n)})
		room -= n + len(name) + 20
	}
	var row []bot.Button
	for i := range l.ButtonRow {
		row = append(row, bot.Button{Label: fmt.Sprintf("Button %d", i), Token: fmt.Sprintf("token%d", i)})
	}
	anyLabel := len(small.Buttons) > 0 && small.Buttons[0].Token != ""
	if anyLabel {
		c.Buttons = [][]bot.Button{row}
	}
	seen := h.sees(t, c)
	for _, a := range c.Args {
		if !strings.Contains(seen.Text, a.Value) {
			t.Errorf("%s of %d characters is cut", a.Name, len(a.Value))
		}
	}
	if anyLabel {
		sameButtons(t, seen.Buttons, row)
	}
}

var remark = regexp.MustCompile(`([0-9]+) more characters`)

// marksWhatItCuts: what is not shown of a value is counted, with what the
// renderer had cut before, and never silently missing.
func marksWhatItCuts(t *testing.T, h *Harness) {
	for _, length := range []int{100, 20_000, 100_000} {
		c := Card()
		c.Args = []bot.Arg{{Name: "note", Value: strings.Repeat("ξ", length), Cut: 120}}
		seen := h.sees(t, c)
		shown := strings.Count(seen.Text, "ξ")
		m := remark.FindStringSubmatch(seen.Text)
		if m == nil {
			t.Errorf("%d of %d characters are shown without a remark", shown, length)
			continue
		}
		if missing, _ := strconv.Atoi(m[1]); missing != length-shown+120 {
			t.Errorf("%d of %d characters are shown, and %d are said to be missing", shown, length, missing)
		}
		sameButtons(t, seen.Buttons, slices.Concat(c.Buttons...))
	}
}

// hostile are texts that would be more than text where somebody lets them.
var hostile = []string{
	`<b>bold</b> <a href="http://evil.example/x">here</a> <script>alert(1)</script>`,
	`*bold* _italic_ [here](http://evil.example/y) ~gone~ ||spoiler||`, "`code` ```block```",
	`<!channel> <@U012AB> <http://evil.example/z|here> &lt;b&gt; &amp;`,
	`@everyone @holm_bot /approve_7 #general`,
	`http://evil.example/w evil.example`,
	`{{.Secret}} ${HOME} %s %n`,
}

// callerTextIsInert: texts of others are read as they were written, and do
// nothing; what is invisible or turns the direction is spelled out.
func callerTextIsInert(t *testing.T, h *Harness) {
	for place, put := range map[string]func(*bot.Card, string){
		"fact": func(c *bot.Card, text string) { c.Facts = append(c.Facts, bot.Fact{Label: "Why", Value: text}) },
		"code": func(c *bot.Card, text string) {
			c.Facts = append(c.Facts, bot.Fact{Label: "Why", Value: text, Code: true})
		},
		"quote": func(c *bot.Card, text string) {
			c.Facts = append(c.Facts, bot.Fact{Label: "Why", Value: text, Quote: true})
		},
		"argument": func(c *bot.Card, text string) { c.Args = append(c.Args, bot.Arg{Name: "arg", Value: text}) },
		"name":     func(c *bot.Card, text string) { c.Args = append(c.Args, bot.Arg{Name: text, Value: "value"}) },
		"note":     func(c *bot.Card, text string) { c.Notes = append(c.Notes, text) },
	} {
		c := Card()
		for _, text := range hostile {
			put(&c, text)
		}
		seen := h.sees(t, c)
		for _, text := range hostile {
			if !strings.Contains(seen.Text, text) {
				t.Errorf("as %s, %q is not read as written in %q", place, text, seen.Text)
			}
		}
		if len(seen.Active) > 0 {
			t.Errorf("as %s, something can be tapped: %q", place, seen.Active)
		}
		sameButtons(t, seen.Buttons, slices.Concat(c.Buttons...))
	}
	invisibleIsSpelledOut(t, h)
	valuesMakeNoLines(t, h)
}

// listsRequests: one message has a line and a button for each request that the
// channel says it lists, and the buttons of a review in which each group of them
// is a pair.
func listsRequests(t *testing.T, h *Harness) {
	lister, ok := h.Channel.(bot.Lister)
	if !ok {
		t.Skip("this channel lists no requests")
	}
	most := lister.MaxListed()
	if most < 2 {
		t.Fatalf("a list of %d requests", most)
	}
	c := bot.Card{Head: fmt.Sprintf("%d requests wait for your decision", most), Notes: []string{"A number brings the request's own card."}}
	var numbers, pairs []bot.Button
	for i := range most {
		c.Args = append(c.Args, bot.Arg{Name: fmt.Sprintf("#%d", i+1), Value: fmt.Sprintf("shop_refund %d · Bea", i+1)})
		numbers = append(numbers, bot.Button{Label: fmt.Sprintf("#%d", i+1), Token: fmt.Sprintf("number-%d", i+1)})
		style := []bot.ButtonStyle{bot.Primary, bot.Danger}[i%2]
		pairs = append(pairs, bot.Button{Label: fmt.Sprintf("Approve these %d once (%c)", i, 'A'+i/2), Token: fmt.Sprintf("these-%d", i), Style: style})
	}
	list, review := c, c
	list.Buttons = append(slices.Collect(slices.Chunk(numbers, 5)), []bot.Button{{Label: bot.LabelReviewAll, Token: "review"}})
	review.Buttons = append(slices.Collect(slices.Chunk(pairs, 2)), []bot.Button{{Label: bot.LabelBackToList, Token: "back"}})
	for _, c := range []bot.Card{list, review} {
		seen := h.sees(t, c)
		for _, a := range c.Args {
			has(t, seen.Text, a.Name, a.Value)
		}
		sameButtons(t, seen.Buttons, slices.Concat(c.Buttons...))
	}
}

// quotesAreWholeAndInert: a folded text is all there, and as inert as a card.
func quotesAreWholeAndInert(t *testing.T, h *Harness) {
	quoter, ok := h.Channel.(bot.Quoter)
	if !ok || h.Seen == nil {
		t.Skip("no quotes, or nobody can look at them")
	}
	text := strings.Join(hostile, "\n") + "\nU+202E:\u202e"
	if !quoter.QuoteHolds("Arguments", text) {
		t.Fatal("a quote has no room for little text")
	}
	ref, err := quoter.SendQuote(t.Context(), bot.Recipient{Identity: h.Owner}, "Arguments", text)
	if err != nil {
		t.Fatal(err)
	}
	seen := h.Seen(t, h.Owner, ref)
	has(t, seen.Text, append([]string{"Arguments", "U+202E:U+202E"}, hostile...)...)
	if len(seen.Active) > 0 {
		t.Errorf("something can be tapped: %q", seen.Active)
	}
	if quoter.QuoteHolds("Arguments", strings.Repeat("x", 1<<20)) {
		t.Error("a quote has room for any text")
	}
	if h.Nobody != "" {
		_, err := quoter.SendQuote(t.Context(), bot.Recipient{Identity: h.Nobody}, "Arguments", "x")
		unreachable(t, "SendQuote to nobody", err)
	}
}

func invisibleIsSpelledOut(t *testing.T, h *Harness) {
	t.Helper()
	invisible := "a\u202eb\u2066c\u200bd\u061ce\ufefff\x1bg\x07h\u00adi"
	const visible = "aU+202EbU+2066cU+200BdU+061CeU+FEFFfU+001BgU+0007hU+00ADi"
	c := Card()
	c.Facts[0].Value, c.Args[0].Value, c.Args[1].Name, c.Notes[0] = "1"+invisible, "2"+invisible, "3"+invisible, "4"+invisible
	seen := h.sees(t, c)
	for _, r := range invisible {
		if r > 'z' && strings.ContainsRune(seen.Text, r) {
			t.Errorf("%U stands in %q", r, seen.Text)
		}
	}
	has(t, seen.Text, "1"+visible, "2"+visible, "3"+visible, "4"+visible)
}

func valuesMakeNoLines(t *testing.T, h *Harness) {
	t.Helper()
	c := Card()
	c.Args[0].Value, c.Facts[0].Value = "ok\nWhy: rule 7", "ok\nTool: shop_look"
	seen := h.sees(t, c)
	for _, forged := range []string{"\nWhy: rule 7", "\nTool: shop_look"} {
		if strings.Contains(seen.Text, forged) {
			t.Errorf("a value made a line of its own in %q", seen.Text)
		}
	}
}

func unreachable(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("%s: %v, want ErrUnreachable", what, err)
	}
}

func peopleWhoCannotBeReached(t *testing.T, h *Harness) {
	files, _ := h.Channel.(bot.FileSender)
	for _, who := range []string{h.Nobody, "no such\x00form", "'; DROP TABLE users --", ""} {
		if who == "" && h.Nobody == "" {
			continue
		}
		_, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: who}, Card())
		unreachable(t, fmt.Sprintf("send to %q", who), err)
		if files != nil {
			unreachable(t, fmt.Sprintf("file to %q", who), files.SendFile(t.Context(), bot.Recipient{Identity: who}, "a.txt", []byte("a"), ""))
		}
	}
	if h.Block == nil {
		return
	}
	h.send(t, Card())
	h.Block(h.Owner)
	_, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Owner}, Card())
	unreachable(t, "send after the person left", err)
	if h.Stranger != "" {
		if _, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Stranger}, Card()); err != nil {
			t.Errorf("send to somebody else: %v", err)
		}
	}
}

func messagesThatAreGone(t *testing.T, h *Harness) {
	if h.Delete == nil {
		t.Skip("messages of this platform stay")
	}
	ref := h.send(t, Card())
	h.Delete(t, ref)
	if err := h.Channel.Update(t.Context(), ref, closed()); !errors.Is(err, bot.ErrGone) {
		t.Errorf("update: %v, want ErrGone", err)
	}
}

func referencesOfOthers(t *testing.T, h *Harness) {
	for _, ref := range []bot.MessageRef{{}, {Chat: "no such chat", Message: "no such message"}, {Chat: "1\x00", Message: "-1"}} {
		if err := h.Channel.Update(t.Context(), ref, closed()); !errors.Is(err, bot.ErrGone) && !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("update of %+v: %v, want ErrGone", ref, err)
		}
	}
}

func rateLimits(t *testing.T, h *Harness) {
	if h.Break == nil {
		t.Skip("this platform does not fail")
	}
	ref := h.send(t, Card())
	h.Break(RateLimited)
	err := h.Channel.Update(t.Context(), ref, closed())
	var limited *bot.RetryError
	if !errors.As(err, &limited) || limited.After < Pause {
		t.Errorf("update: %v, want a RetryError of at least %s", err, Pause)
	}
}

// transient is an error after which the same call may work.
func transient(t *testing.T, what string, err error) {
	t.Helper()
	var limited *bot.RetryError
	if err == nil || errors.Is(err, bot.ErrUnreachable) || errors.Is(err, bot.ErrGone) || errors.Is(err, bot.ErrSetup) || errors.As(err, &limited) {
		t.Errorf("%s: %v, want an error without a kind", what, err)
	}
}

func aBrokenPlatform(t *testing.T, h *Harness) {
	if h.Break == nil {
		t.Skip("this platform does not fail")
	}
	h.Break(Broken)
	_, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Owner}, Card())
	transient(t, "send", err)
	ref := h.send(t, Card())
	h.Break(Broken)
	transient(t, "update", h.Channel.Update(t.Context(), ref, closed()))
	if err := h.Channel.Update(t.Context(), ref, closed()); err != nil {
		t.Errorf("update once it works again: %v", err)
	}
}

// aLostAnswer: the edit was made, so that making it again is success.
func aLostAnswer(t *testing.T, h *Harness) {
	if h.Break == nil {
		t.Skip("this platform does not fail")
	}
	h.Break(Lost)
	_, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Owner}, Card())
	transient(t, "send", err)
	ref := h.send(t, Card())
	h.Break(Lost)
	transient(t, "update", h.Channel.Update(t.Context(), ref, closed()))
	if err := h.Channel.Update(t.Context(), ref, closed()); err != nil {
		t.Errorf("the same update again: %v", err)
	}
}

func aSetUpThatWasTakenAway(t *testing.T, h *Harness) {
	if h.Revoke == nil {
		t.Skip("there is nothing to take away")
	}
	h.Revoke()
	_, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Owner}, Card())
	if !errors.Is(err, bot.ErrSetup) {
		t.Errorf("send: %v, want ErrSetup", err)
	}
}

func sendsAtTheSameTime(t *testing.T, h *Harness) {
	var mu sync.Mutex
	refs := map[bot.MessageRef]bool{}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			c := Card()
			c.Head = fmt.Sprintf("Approval needed · #%d", i) // the very same card may be one message
			ref, err := h.Channel.Send(t.Context(), bot.Recipient{Identity: h.Owner}, c)
			if err != nil {
				t.Errorf("send: %v", err)
			}
			_ = h.Channel.Health()
			mu.Lock()
			defer mu.Unlock()
			refs[ref] = true
		})
	}
	wg.Wait()
	if len(refs) != 3 {
		t.Errorf("three messages have the references %v", refs)
	}
}

func aCallThatIsBrokenOff(t *testing.T, h *Harness) {
	if h.Break == nil {
		t.Skip("nothing is called")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Channel.Send(ctx, bot.Recipient{Identity: h.Owner}, Card())
	transient(t, "send", err)
}
