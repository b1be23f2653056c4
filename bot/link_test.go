package bot_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/bot"
	"holm/internal/identity"
	"holm/internal/linking"
	"holm/policy"
)

var linkToken = regexp.MustCompile(`link ([A-Za-z0-9_-]{32})`)

// wantsLink has somebody ask for a token.
func (w *world) wantsLink(who string) (token string) {
	w.t.Helper()
	reply := w.says(who, "link")
	found := linkToken.FindStringSubmatch(reply)
	if found == nil {
		w.t.Fatalf("no token in %q", reply)
	}
	return found[1]
}

// presents sends a token whose answer is a question.
func (w *world) presents(who, token string) {
	w.t.Helper()
	w.store(bot.Event{Kind: bot.Text, Identity: who, Name: who, Direct: true, Text: "link " + token})
}

// linkCard waits for the last message of that head at somebody.
func (w *world) linkCard(who, head string) bot.Card {
	w.t.Helper()
	var found bot.Card
	w.see(head+" at "+who, func() bool {
		for _, m := range w.chat.messages {
			if m.to.Identity == who && strings.HasPrefix(m.card.Head, head) {
				found = m.card
			}
		}
		return found.Head != ""
	})
	return found
}

const (
	first = "Are these two accounts yours?"
	last  = "Last question"
)

func (w *world) role(who string) string {
	w.t.Helper()
	user, ok, err := identity.FindUser(w.ctx, w.pool, identity.Address{Channel: "chat", Identity: who})
	if err != nil || !ok {
		return ""
	}
	role, err := identity.RoleOf(w.ctx, w.pool, "main", user.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(role)
}

func (w *world) merges() (n int) {
	w.t.Helper()
	if err := w.pool.QueryRow(w.ctx, `SELECT count(*) FROM user_merges WHERE undone_at IS NULL`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// An agent with somebody's key can present a token in their name and then ask
// them for a yes in the chat: that word is for the agent, the button alone links.
func TestAYesInWordsIsNoAnswerToWhatAKeyBegan(t *testing.T) {
	w := newWorld(t)
	uma := w.member("chat", "uma", policy.User, "main")
	w.member("chat", "mallory", policy.Guest, "main")
	links := linking.New(w.svc)
	d := must(links.Present(w.ctx, w.wantsLink("mallory"), linking.Side{UserID: uma}, ""))
	q := w.linkCard("uma", first)
	contains(t, fmt.Sprint(q.Notes), "An agent's key asks this in your name. Tap.")
	contains(t, w.tap("mallory", token(w.linkCard("mallory", first), "Yes")), "Noted")
	contains(t, w.says("uma", "yes"), "No program of agent main listens")
	if now := must(links.Get(w.ctx, d.ID)); w.merges() != 0 || now.B.Yes != 0 {
		t.Fatalf("a word links: %+v", now)
	}
	contains(t, w.tap("uma", token(q, "Yes")), "are linked")
}

// An owner links an account that nobody knew: both see both, both say yes, the
// owner once more; the open card arrives at the new account; undo parts them.
func TestAnOwnerLinksAnotherAccount(t *testing.T) {
	w := newWorld(t)
	w.owner("olga")
	r := w.ask(`{"title":"x"}`)
	w.presents("phone", w.wantsLink("olga"))
	for _, who := range []string{"olga", "phone"} {
		q := w.linkCard(who, first)
		contains(t, fmt.Sprint(q.Facts), "chat:olga", "chat:phone", "Olga", "phone")
		contains(t, w.tap(who, token(q, "Yes")), "Noted")
		if who == "olga" && w.merges() != 0 {
			t.Fatal("linked with one yes")
		}
	}
	q := w.linkCard("olga", last)
	if w.merges() != 0 || w.role("phone") != "" {
		t.Fatal("linked before the owner's second yes")
	}
	contains(t, w.tap("phone", token(w.linkCard("phone", first), "Yes")), "asked once more")
	contains(t, w.tap("phone", token(q, "Yes")), "not one of yours")
	if w.merges() != 0 {
		t.Fatal("linked without the owner's second yes")
	}
	contains(t, w.tap("olga", token(q, "Yes")), "are linked")
	contains(t, w.tap("olga", token(q, "Yes")), "are linked") // a platform sends taps twice
	news := w.linkCard("phone", "Linked:")
	w.linkCard("olga", "Linked:")
	w.card("phone", r)
	contains(t, w.says("phone", "whoami"), "You are owner of agent main")
	contains(t, w.tap("phone", token(news, "Undo")), "Undone")
	w.linkCard("olga", "No longer linked")
	w.linkCard("phone", "No longer linked")
	contains(t, w.tap("phone", w.token("phone", r, "Approve")), "nly an owner of agent")
	contains(t, w.tap("olga", token(news, "Undo")), "not one of yours")
	contains(t, w.tap("olga", token(q, "Yes")), "over") // an old button links nothing anew
	if w.role("phone") != "" || w.role("olga") != "owner" {
		t.Errorf("undone: phone is %q, olga %q", w.role("phone"), w.role("olga"))
	}
}

func TestLinkingInWords(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "una", policy.User, "main")
	w.member("chat", "gus", policy.Guest, "main")
	w.presents("gus", w.wantsLink("una"))
	w.linkCard("una", first)
	w.linkCard("gus", first)
	contains(t, w.says("gus", "yes"), "other side has to say yes")
	contains(t, w.says("gus", "Yes"), "other side has to say yes") // twice is once
	if w.merges() != 0 {
		t.Fatal("linked by one side")
	}
	w.store(bot.Event{Kind: bot.Text, Identity: "una", Name: "una", Direct: true, Text: "yes"})
	w.linkCard("una", "Linked:")
	w.linkCard("gus", "Linked:")
	if w.role("gus") != "user" {
		t.Errorf("gus is %q", w.role("gus"))
	}
	contains(t, w.says("una", "yes"), "listens") // nothing is asked any more: words for the agent
	w.store(bot.Event{Kind: bot.Text, Identity: "gus", Name: "gus", Direct: true, Text: "unlink"})
	w.linkCard("una", "No longer linked")
	if w.role("gus") != "guest" || w.role("una") != "user" {
		t.Errorf("gus is %q, una %q", w.role("gus"), w.role("una"))
	}
	contains(t, w.says("gus", "undo 99"), "No merge 99")
	contains(t, w.says("gus", "undo x"), "not the number")
}

// Whoever holds a stolen token gains nothing: the side it was taken from sees
// who comes, and says no.
func TestAStolenTokenGainsNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("olga")
	stolen := w.wantsLink("olga")
	w.presents("mallory", stolen)
	w.tap("mallory", token(w.linkCard("mallory", first), "Yes"))
	q := w.linkCard("olga", first)
	contains(t, fmt.Sprint(q.Facts), "chat:mallory")
	contains(t, w.tap("mallory", token(q, "Yes")), "not one of yours") // a forwarded card
	contains(t, w.tap("olga", token(q, "No")), "stay apart")
	w.linkCard("mallory", "The accounts stay apart")
	w.linkCard("olga", "The accounts stay apart")
	contains(t, w.says("olga", "yes"), "listens")
	contains(t, w.tap("olga", token(q, "Yes")), "over")
	contains(t, w.says("mallory", "link "+stolen), "not valid")
	if w.merges() != 0 || w.role("mallory") != "" {
		t.Error("mallory is linked")
	}
}

func TestTokensOfLinksThatAreWorthNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("olga")
	w.member("chat", "una", policy.User, "main")
	old := w.wantsLink("olga")
	fresh := w.wantsLink("olga")
	contains(t, w.says("una", "link "+old), "not valid") // a newer one took its place
	contains(t, w.says("olga", "link "+fresh), "your own")
	contains(t, w.saysAs("una", "link "+fresh, false), "only here")
	w.exec(`UPDATE link_dialogs SET expires_at = now() - interval '1 second'`)
	contains(t, w.says("una", "link "+fresh), "not valid")
	again := w.wantsLink("olga")
	w.presents("una", again)
	w.linkCard("una", first)
	contains(t, w.says("mallory", "link "+again), "not valid") // used
	var stored int
	if err := w.pool.QueryRow(w.ctx, `SELECT count(*) FROM link_dialogs d WHERE strpos(d::text, $1) > 0`, again).Scan(&stored); err != nil || stored != 0 {
		t.Errorf("the token is stored, error %v", err)
	}
	w.exec(`UPDATE link_dialogs SET expires_at = now() - interval '1 second' WHERE state = 'presented'`)
	contains(t, w.tap("una", token(w.linkCard("una", first), "Yes")), "not valid")
	if w.merges() != 0 {
		t.Error("something is linked")
	}
}

// Taps of both sides at once, each several times, link once.
func TestAnswersAtOnceLinkOnce(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "una", policy.User, "main")
	w.member("chat", "ulf", policy.User, "main")
	w.presents("ulf", w.wantsLink("una"))
	tokens := map[string]string{}
	for _, who := range []string{"una", "ulf"} {
		tokens[who] = token(w.linkCard(who, first), "Yes")
	}
	var wg sync.WaitGroup
	for range 4 {
		for who, tok := range tokens {
			wg.Go(func() { w.store(bot.Event{Kind: bot.Tap, Identity: who, Name: who, Direct: true, Token: tok}) })
		}
	}
	wg.Wait()
	w.linkCard("una", "Linked:")
	w.linkCard("ulf", "Linked:")
	w.see("all taps answered", func() bool { return len(w.chat.answers) == 8 })
	if n := w.merges(); n != 1 {
		t.Errorf("%d merges", n)
	}
}

func TestUndoEndsAfterADay(t *testing.T) {
	w := newWorld(t)
	una, ulf := w.member("chat", "una", policy.User, "main"), w.member("chat", "ulf", policy.User, "main")
	w.member("chat", "mia", policy.User, "main")
	var m identity.Merge
	w.tx(func(tx pgx.Tx) (err error) {
		m, err = identity.MergeUsers(w.ctx, tx, una, ulf, "admin")
		return err
	})
	contains(t, w.says("mia", fmt.Sprint("undo ", m.Number)), "No merge")
	w.exec(`UPDATE user_merges SET merged_at = now() - interval '25 hours'`)
	contains(t, w.says("una", fmt.Sprint("undo ", m.Number)), "older than a day")
	contains(t, w.says("una", "unlink"), "Nothing was linked within a day")
	if w.merges() != 1 {
		t.Error("it was undone")
	}
}
