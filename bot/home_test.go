package bot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// withPages is a recorder that has pages.
type withPages struct {
	*recorder
	pages map[string]bot.Page
	shown map[string]int
}

func (c *withPages) ShowHome(_ context.Context, identity string, p bot.Page) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages[identity] = p
	c.shown[identity]++
	c.touch()
	return nil
}

func pagesWorld(t *testing.T) (*world, *withPages) {
	t.Helper()
	pages := &withPages{newRecorder("paged"), map[string]bot.Page{}, map[string]int{}}
	w := idleWorld(t, pages)
	w.chat = pages.recorder
	w.namespace = "paged"
	w.start()
	return w, pages
}

func (w *world) page(pages *withPages, who, what string, ok func(bot.Page) bool) bot.Page {
	w.t.Helper()
	var p bot.Page
	w.see("a page of "+who+": "+what, func() bool {
		p = pages.pages[who]
		return ok(p)
	})
	return p
}

func heads(p bot.Page) (all []string) {
	for _, c := range p.Cards {
		all = append(all, c.Head)
	}
	return all
}

// TestPageFollows: a page that was opened once shows what waits, with buttons
// that decide, and follows each change.
func TestPageFollows(t *testing.T) {
	w, pages := pagesWorld(t)
	w.member("paged", "ann", policy.Owner, "main")
	first := w.ask(`{"title":"one"}`)
	w.card("ann", first)

	w.store(bot.Event{Kind: bot.Opened, Identity: "ann", Direct: true})
	p := w.page(pages, "ann", "the first request", func(p bot.Page) bool { return len(p.Cards) == 1 })
	contains(t, p.Head, "decision: 1")
	contains(t, strings.Join(heads(p), "\n"), "#1")

	w.ask(`{"title":"two"}`)
	p = w.page(pages, "ann", "both requests", func(p bot.Page) bool { return len(p.Cards) == 2 })
	if got := w.tap("ann", token(p.Cards[0], bot.LabelApproveCall)); !strings.Contains(got, "Approved once: request #1") {
		t.Errorf("the tap was answered %q", got)
	}
	p = w.page(pages, "ann", "what is left", func(p bot.Page) bool { return len(p.Cards) == 1 })
	contains(t, heads(p)[0], "#2")
	if w.now(first).Status != approvals.Approved {
		t.Error("the tap on the page decided nothing")
	}
	w.see("the card in the chat closed as well", func() bool {
		m := w.find("ann", "#1")
		return m != nil && len(m.card.Buttons) == 0
	})
}

// TestPagesAreOnesOwn: a guest sees their own requests and no cards, a stranger
// neither, and nobody has a page who never opened it.
func TestPagesAreOnesOwn(t *testing.T) {
	w, pages := pagesWorld(t)
	w.member("paged", "ann", policy.Owner, "main")
	guest := w.member("paged", "gus", policy.Guest, "main")
	for _, who := range []string{"gus", "eve"} {
		w.store(bot.Event{Kind: bot.Opened, Identity: who, Direct: true})
		w.page(pages, who, "any", func(p bot.Page) bool { return p.Head != "" })
	}
	r := w.askAs("main", guest, `{"title":"mine"}`, nil)
	p := w.page(pages, "gus", "the own request", func(p bot.Page) bool { return strings.Contains(strings.Join(p.Notes, ""), "#1") })
	if len(p.Cards) != 0 || !strings.Contains(p.Notes[0], "waits for an owner") {
		t.Errorf("gus sees %+v", p)
	}
	w.tap("ann", w.token("ann", r, bot.LabelReject))
	w.page(pages, "gus", "the answer", func(p bot.Page) bool { return strings.Contains(strings.Join(p.Notes, ""), "rejected by") })

	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if p := pages.pages["eve"]; len(p.Cards)+len(p.Notes) != 0 || !strings.Contains(p.Head, "private") {
		t.Errorf("eve sees %+v", p)
	}
	if pages.shown["ann"] != 0 {
		t.Error("ann has a page that she never opened")
	}
}

// TestManyChangesAreShownTogether: changes that come while a page is shown
// gather, and the page is not shown for each of them.
func TestManyChangesAreShownTogether(t *testing.T) {
	w, pages := pagesWorld(t)
	w.member("paged", "ann", policy.Owner, "main")
	w.store(bot.Event{Kind: bot.Opened, Identity: "ann", Direct: true})
	w.page(pages, "ann", "any", func(p bot.Page) bool { return p.Head != "" })
	const requests = 20
	for i := range requests {
		w.ask(fmt.Sprintf(`{"n":%d}`, i))
	}
	p := w.page(pages, "ann", "all requests", func(p bot.Page) bool { return strings.Contains(p.Head, "decision: 20") })
	if len(p.Cards) != 12 || !slices.ContainsFunc(p.Notes, func(s string) bool { return strings.Contains(s, "8 more wait") }) {
		t.Errorf("%d cards, notes %q", len(p.Cards), p.Notes)
	}
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if n := pages.shown["ann"]; n > requests {
		t.Errorf("the page was shown %d times for %d requests", n, requests)
	}
}
