package bot_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"holm/approvals"
	"holm/bot"
	"holm/internal/fault"
	"holm/policy"
)

func TestTapApprovesAndClosesEveryCopyOfTheCard(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	r := w.ask(`{"title":"hello"}`)
	w.card("bob", r)

	contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveCall)), "Approved once")

	if now := w.now(r); now.Status != approvals.Approved || *now.ResolvedVia != "chat" || *now.ResolvedName != "Ann" {
		t.Errorf("request is %+v", now)
	}
	for _, who := range []string{"ann", "bob"} {
		w.see("the closed card at "+who, func() bool {
			m := w.find(who, "✅ Approved · #1")
			return m != nil && len(m.card.Buttons) == 0
		})
	}
}

func TestEachButtonLeavesWhatItSays(t *testing.T) {
	for label, want := range map[string]struct {
		resolution policy.Resolution
		extent     approvals.Extent
		toast      string
	}{
		bot.LabelApproveCall:     {policy.Single, "", "Approved once"},
		bot.LabelApproveForTime:  {policy.Once, "", "Approved for 60 min"},
		bot.LabelAlwaysTool:      {policy.Persistent, approvals.WholeTool, "any arguments"},
		bot.LabelAlwaysArguments: {policy.Persistent, approvals.TheseArguments, "these arguments"},
		bot.LabelReject:          {"", "", "Rejected"},
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t)
			w.owner("ann")
			r := w.ask(`{}`)
			if strings.HasPrefix(label, "Always") {
				w.tap("ann", w.token("ann", r, bot.LabelMore))
				w.tap("ann", w.token("ann", r, label))
				label = bot.LabelYesAlways
			}
			press := w.token("ann", r, label)
			contains(t, w.tap("ann", press), want.toast)
			contains(t, w.tap("ann", press), want.toast) // sent again, told the same
			now := w.now(r)
			if got := value(now.Resolution); got != want.resolution {
				t.Errorf("resolution is %q", got)
			}
			if got := value(now.Extent); got != want.extent {
				t.Errorf("extent is %q", got)
			}
			if now.Version != 2 {
				t.Errorf("two taps made version %d", now.Version)
			}
		})
	}
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func TestTapsThatMayNotDecideChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	w.member("chat", "gus", policy.Guest, "main")
	r := w.ask(`{"title":"hello"}`)
	good := w.token("ann", r, bot.LabelApproveCall)
	w.card("bob", r)

	contains(t, w.tap("bob", good), "belongs to somebody else")
	contains(t, w.tap("gus", good), "belongs to somebody else")
	contains(t, w.tap("stranger", good), "belongs to somebody else")
	for name, forged := range forgeries(good) {
		if text := w.tap("ann", forged); !strings.Contains(text, "not one of ours") {
			t.Errorf("%s was answered %q", name, text)
		}
	}
	if now := w.now(r); now.Status != approvals.Pending || now.Version != 1 {
		t.Errorf("request is %+v", now)
	}
}

// forgeries are tokens made from a good one by somebody without the key.
func forgeries(good string) map[string]string {
	raw := must(base64.RawURLEncoding.DecodeString(good))
	changed := func(i int, by byte) string {
		other := append([]byte{}, raw...)
		other[i] ^= by
		return base64.RawURLEncoding.EncodeToString(other)
	}
	return map[string]string{
		"empty": "", "words": "approve", "another card": changed(0, 1), "another action": changed(16, 2),
		"an unknown action": changed(16, 0x80), "another mac": changed(24, 1), "cut": good[:len(good)-2], "longer": good + "AA",
		"padded": good + "==", "spaced": good + "\n", "loose bits": good[:len(good)-1] + next(good[len(good)-1]),
		"not text": "\x00\xff", "huge": strings.Repeat("A", 10_000),
	}
}

// next changes the unused low bits of a token's last character.
func next(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

func TestTapOfAFormerOwnerIsRefused(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{"title":"hello"}`)
	approve, details := w.token("ann", r, bot.LabelApproveCall), w.token("ann", r, bot.LabelDetails)
	w.exec(`DELETE FROM agent_members`)

	contains(t, w.tap("ann", approve), "Only an owner of agent")
	contains(t, w.tap("ann", details), "may not decide request #1 of agent main any more")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if len(w.chat.messages) != 1 {
		t.Errorf("%d messages were sent, want the card alone", len(w.chat.messages))
	}
}

func TestLateTapIsToldTheTruth(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	expired := w.ask(`{"n":1}`)
	decided := w.ask(`{"n":2}`)
	late := w.token("ann", expired, bot.LabelApproveCall)
	second := w.token("ann", decided, bot.LabelApproveCall)

	// The deadline is part of the signature, so it moves with its clock.
	w.exec(`UPDATE approval_requests SET created_at = created_at - interval '2 hours', expires_at = expires_at - interval '2 hours' WHERE id = $1`, expired.ID)
	moved := w.now(expired)
	late = w.sign("ann", moved, approvals.ApproveCall, late)
	contains(t, w.tap("ann", late), "#1 expired at", "nothing ran")
	if now := w.now(expired); now.Status != approvals.Expired {
		t.Errorf("request is %s", now.Status)
	}
	w.see("the expired card", func() bool { m := w.find("ann", "⌛ Expired · #1"); return m != nil && len(m.card.Buttons) == 0 })

	contains(t, w.tap("bob", w.token("bob", decided, bot.LabelReject)), "Rejected")
	contains(t, w.tap("ann", second), "#2 was already rejected by Bob (chat) at")
}

// sign makes the token of a button anew, with the delivery's own id.
func (w *world) sign(who string, r approvals.Request, a approvals.Action, old string) string {
	raw := must(base64.RawURLEncoding.DecodeString(old))
	return approvals.ButtonToken(w.keeper, raw[:16], r, "chat", who, a)
}

func TestResolutionThatTheRuleDoesNotOfferIsRefused(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.askAs("main", "agent:main", `{}`, &policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Single}})
	reject := w.token("ann", r, bot.LabelReject)
	always := w.sign("ann", r, approvals.AlwaysTool, reject)
	contains(t, w.tap("ann", always), "does not offer")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
}

func TestOfManyTapsAtOnceOneDecidesAndAllAreToldTheTruth(t *testing.T) {
	const people = 20
	w := newWorld(t)
	for i := range people {
		w.owner(fmt.Sprintf("p%02d", i))
	}
	r := w.ask(`{"title":"hello"}`)
	press := map[string]string{}
	for i := range people {
		label := bot.LabelApproveCall
		if i%2 == 1 {
			label = bot.LabelReject
		}
		who := fmt.Sprintf("p%02d", i)
		press[who] = w.token(who, r, label)
	}
	var wg sync.WaitGroup
	for who, token := range press {
		wg.Go(func() { w.store(bot.Event{Kind: bot.Tap, Identity: who, Direct: true, Token: token}) })
	}
	wg.Wait()
	w.see("twenty answers", func() bool { return len(w.chat.answers) == people })

	now := w.now(r)
	if now.Status != approvals.Approved && now.Status != approvals.Rejected || now.Version != 2 {
		t.Fatalf("request is %+v", now)
	}
	w.chat.mu.Lock()
	winners := 0
	for _, a := range w.chat.answers {
		name := strings.ToUpper(a.identity[:1]) + a.identity[1:]
		switch {
		case name == *now.ResolvedName:
			winners++
			if strings.Contains(a.text, "already") {
				t.Errorf("the winner was told %q", a.text)
			}
		case !strings.Contains(a.text, fmt.Sprintf("already %s", now.Status)) || !strings.Contains(a.text, "by "+*now.ResolvedName+" (chat)"):
			t.Errorf("%s was told %q", a.identity, a.text)
		}
	}
	w.chat.mu.Unlock()
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
	w.see("no buttons anywhere", func() bool {
		for _, m := range w.chat.messages {
			if len(m.card.Buttons) > 0 {
				return false
			}
		}
		return true
	})
}

func TestDetailsBringAllArgumentsRedacted(t *testing.T) {
	body := strings.Repeat("0123456789", 1000)
	args := `{"body":"` + body + `","password":"hunter2","name":"a\u202eb"}`
	check := func(t *testing.T, text string) {
		contains(t, text, `"password": "[hidden]"`, "U+202E")
		if strings.Contains(text, "hunter2") {
			t.Error("details tell a secret")
		}
		if flat := strings.Map(onlyDigits, text); !strings.Contains(flat, body) {
			t.Errorf("details lack part of the value: %d characters", len(text))
		}
	}
	t.Run("in messages", func(t *testing.T) {
		w := newWorld(t)
		w.owner("ann")
		r := w.ask(args)
		w.poll("the delivery", func() bool { s, _, _ := w.delivery("ann", r); return s == "sent" })
		contains(t, w.tap("ann", w.token("ann", r, bot.LabelDetails)), "come as a message")
		card := w.card("ann", r)
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		var text strings.Builder
		for _, m := range w.chat.messages[1:] {
			_, part, _ := strings.Cut(m.card.Head, "\n")
			text.WriteString(part)
			if m.to.ReplyTo != card.ref {
				t.Errorf("details reply to %+v", m.to.ReplyTo)
			}
		}
		check(t, text.String())
	})
	t.Run("in a file", func(t *testing.T) {
		files := withFiles{newRecorder("files")}
		w := idleWorld(t, files)
		w.chat = files.recorder
		w.start()
		w.member("files", "ann", policy.Owner, "main")
		r := w.ask(args)
		press := w.token("ann", r, bot.LabelDetails)
		text := w.answerTo("ann", func() {
			err := w.bot.Store(w.ctx, "files", bot.Incoming{ID: uuid.NewString(), Payload: []byte(`{"Kind":"tap","Identity":"ann","Token":"` + press + `"}`)})
			if err != nil {
				t.Error(err)
			}
		})
		contains(t, text, "come as a message")
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		if len(w.chat.files) != 1 {
			t.Fatalf("%d files", len(w.chat.files))
		}
		check(t, w.chat.files[0].data)
	})
}

// withQuotes is a recorder that folds texts of up to most bytes.
type withQuotes struct {
	withFiles
	most int
}

func (c withQuotes) QuoteHolds(title, text string) bool { return len(title)+len(text) <= c.most }

func (c withQuotes) SendQuote(ctx context.Context, to bot.Recipient, title, text string) (bot.MessageRef, error) {
	return c.Send(ctx, to, bot.Card{Head: title, Facts: []bot.Fact{{Value: text, Quote: true}}})
}

// TestDetailsAreFoldedWhereTheyFit: what is too long stays a file.
func TestDetailsAreFoldedWhereTheyFit(t *testing.T) {
	quotes := withQuotes{withFiles{newRecorder("quotes")}, 3000}
	w := idleWorld(t, quotes)
	w.chat, w.namespace = quotes.recorder, "quotes"
	w.start()
	w.member("quotes", "ann", policy.Owner, "main")
	short, long := strings.Repeat("s", 2900), strings.Repeat("l", 4000)
	for i, args := range []string{`{"text":"` + short + `","password":"hunter2"}`, `{"text":"` + long + `"}`} {
		r := w.ask(args)
		contains(t, w.tap("ann", w.token("ann", r, bot.LabelDetails)), "come as a message")
		w.chat.mu.Lock()
		if len(w.chat.files) != i {
			t.Errorf("%d files", len(w.chat.files))
		}
		m := w.find("ann", "Arguments of request #1")
		if m == nil {
			t.Fatal("no quote")
		}
		contains(t, m.card.Facts[0].Value, `"text": "`+short+`"`, `"password": "[hidden]"`)
		w.chat.mu.Unlock()
	}
}

func onlyDigits(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

func TestTapIsAnsweredOnceWhenTheDatabaseFailsAtFirst(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	press := w.token("ann", r, bot.LabelApproveCall)
	w.exec(`ALTER TABLE approval_grants RENAME TO approval_grants_away`)
	w.store(bot.Event{Kind: bot.Tap, Identity: "ann", Direct: true, Token: press})
	w.poll("a failed attempt", func() bool {
		var failed bool
		must("", w.pool.QueryRow(w.ctx, `SELECT EXISTS (SELECT 1 FROM river.river_job WHERE kind = 'inbox_handle' AND cardinality(errors) > 0)`).Scan(&failed))
		return failed
	})
	w.exec(`ALTER TABLE approval_grants_away RENAME TO approval_grants`)
	w.see("an answer", func() bool { return len(w.chat.answers) > 0 })
	w.poll("the event handled", func() bool { return w.handled() == 1 })
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if len(w.chat.answers) != 1 {
		t.Errorf("answers are %+v", w.chat.answers)
	}
	contains(t, w.chat.answers[0].text, "Approved once")
}

func TestButtonsOfOthersAreUnknown(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	good := w.token("ann", r, bot.LabelApproveCall)
	b, err := approvals.FindButton(w.ctx, w.pool, w.keeper, good)
	if err != nil || b.ID != r.ID || b.Channel != "chat" || b.Identity != "ann" || b.Action != approvals.ApproveCall {
		t.Errorf("the good button is %+v, %v", b, err)
	}
	if len(good) > 64 {
		t.Errorf("a token has %d bytes", len(good))
	}
	for name, forged := range forgeries(good) {
		_, err := approvals.FindButton(w.ctx, w.pool, w.keeper, forged)
		if f, ok := fault.As(err); !ok || f.Kind != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.exec(`UPDATE approval_requests SET expires_at = expires_at + interval '1 hour'`)
	if _, err := approvals.FindButton(w.ctx, w.pool, w.keeper, good); !fault.Is(err, "unknown_button") {
		t.Errorf("a button outlived its deadline: %v", err)
	}
}

// handled counts the events that are done with.
func (w *world) handled() (n int) {
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM inbox WHERE handled_at IS NOT NULL`).Scan(&n))
	return n
}

// TestATapWaitsForNoCards: a platform that is slow to take cards keeps nobody from
// deciding, however many are on their way.
func TestATapWaitsForNoCards(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	approve := w.token("ann", w.ask(`{"n":0}`), bot.LabelApproveCall)
	sending, release := make(chan struct{}, 2*cardWorkers), make(chan struct{})
	defer close(release)
	w.platform(func(what string, _ bot.Card) error {
		if what == "send" {
			sending <- struct{}{}
			<-release
		}
		return nil
	})
	for n := range 2 * cardWorkers {
		w.ask(fmt.Sprintf(`{"n":%d}`, n+1))
	}
	for range cardWorkers {
		<-sending
	}
	contains(t, w.tap("ann", approve), "Approved once: request #1")
}
