package bot_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// listing is a recorder that lists requests.
type listing struct{ *recorder }

var _ bot.Lister = listing{}

func (listing) MaxListed() int { return 20 }

// listWorld has ann as owner on a channel that lists, and no job running.
func listWorld(t *testing.T) *world {
	t.Helper()
	list := listing{newRecorder("listed")}
	w := idleWorld(t, list)
	w.chat, w.namespace = list.recorder, "listed"
	w.member("listed", "ann", policy.Owner, "main")
	return w
}

// issues asks for issues with these titles, after a first one whose card comes by
// itself, and gives those that wait in a digest.
func (w *world) issues(titles ...string) (listed []approvals.Request) {
	w.t.Helper()
	first := w.ask(`{"title":"first"}`)
	w.start()
	w.card("ann", first)
	for _, title := range titles {
		listed = append(listed, w.ask(fmt.Sprintf(`{"repo":"holm","title":%q}`, title)))
	}
	w.gathered()
	w.endWindows()
	return listed
}

// gathered waits until every card was sent or waits in a digest.
func (w *world) gathered() {
	w.t.Helper()
	w.poll("all cards sent or gathered", func() bool {
		var waits bool
		err := w.pool.QueryRow(w.ctx, `
			SELECT EXISTS (
			    SELECT 1
			    FROM card_deliveries
			    WHERE state = 'queued'
			      AND digest_id IS NULL
			)`).Scan(&waits)
		return must(!waits, err)
	})
}

// endWindows lets the digests that gather be sent now.
func (w *world) endWindows() {
	w.t.Helper()
	w.exec(`UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'bot_digest' AND state IN ('scheduled', 'retryable')`)
}

// digest waits for the n-th list whose head contains words, and gives what it
// shows.
func (w *world) digest(n int, words string) (m *message, card bot.Card) {
	w.t.Helper()
	w.see(fmt.Sprintf("list %d with %q", n, words), func() bool {
		lists := w.lists()
		if len(lists) <= n || !strings.Contains(dump(lists[n].card), words) {
			return false
		}
		m, card = lists[n], lists[n].card
		return true
	})
	return m, card
}

// lists is called with the recorder's lock held.
func (w *world) lists() (lists []*message) {
	for _, m := range w.chat.messages {
		if len(m.card.Facts) == 0 && len(m.card.Args) > 0 {
			lists = append(lists, m)
		}
	}
	return lists
}

// TestAFloodIsFewMessages: thirty questions of three people are three messages to
// their owner, each of them can be decided, and at the end no message lies.
func TestAFloodIsFewMessages(t *testing.T) {
	w := listWorld(t)
	w.start()
	var asked []approvals.Request
	for n := range 30 {
		who := w.member("chat", fmt.Sprintf("guest%d", n%3), policy.Guest, "main")
		asked = append(asked, w.askAs("main", who, fmt.Sprintf(`{"repo":"holm","title":"issue %d"}`, n), nil))
	}
	w.gathered()
	w.endWindows()
	w.digest(1, "requests wait for your decision")
	w.chat.mu.Lock()
	if n := len(w.chat.messages); n != 3 {
		t.Errorf("%d messages, want one card and two lists", n)
	}
	w.chat.mu.Unlock()

	for i := range 2 {
		_, card := w.digest(i, "wait for your decision")
		w.tap("ann", token(card, bot.LabelReviewAll))
		for waits := true; waits; {
			_, card = w.digest(i, bot.LabelApproveThese)
			contains(t, w.tap("ann", token(card, bot.LabelApproveThese)), "Approved once: #")
			w.see("what is left", func() bool {
				now := dump(w.lists()[i].card)
				waits = strings.Contains(now, bot.LabelApproveThese)
				return now != dump(card) && (waits || strings.HasPrefix(now, "None of these") || strings.Contains(now, "the only one of its tool"))
			})
			if _, card = w.digest(i, ""); strings.Contains(dump(card), "the only one of its tool") {
				waits = false // the last goes by its own card
				w.settled()
				w.tap("ann", token(card, "#"))
			}
		}
	}
	for _, r := range asked { // the first, and what a review had no company for
		if w.now(r).Status == approvals.Pending {
			contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveCall)), "Approved once")
		}
	}
	for _, r := range asked {
		now := w.now(r)
		if now.Status != approvals.Approved || *now.Resolution != policy.Single || *now.ResolvedName != "Ann" || *now.ResolvedVia != "listed" {
			t.Errorf("request #%d is %s", now.ShortID, now.Status)
		}
	}
	var audited int
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM session_events WHERE type = 'approval_resolved'`).Scan(&audited))
	if audited != 30 {
		t.Errorf("%d decisions were told, want 30", audited)
	}
	w.see("no message that offers a decision", func() bool {
		return !slices.ContainsFunc(w.chat.messages, func(m *message) bool { return len(m.card.Buttons) > 0 })
	})
}

func TestAListSaysWhatDiffers(t *testing.T) {
	w := listWorld(t)
	listed := w.issues("one", "two")
	_, card := w.digest(0, "2 requests wait")
	for i, r := range listed {
		line := card.Args[i]
		if line.Name != fmt.Sprintf("#%d", r.ShortID) || strings.Contains(line.Value, "repo") {
			t.Errorf("line %+v", line)
		}
		contains(t, line.Value, "github__create_issue", "agent main", "title “"+[]string{"one", "two"}[i]+"”")
	}
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese)
	contains(t, dump(card), "- Tool: github__create_issue, agent main: 2 requests\n", "- all · repo: holm\n",
		fmt.Sprintf("- #%d · title: one\n", listed[0].ShortID), fmt.Sprintf("- #%d · title: two\n", listed[1].ShortID), "[Approve these 2 once primary", "[Reject these 2 danger")
	w.tap("ann", token(card, bot.LabelBackToList))
	w.digest(0, bot.LabelReviewAll)
}

// TestHiddenValuesThatDifferAreSaidToDiffer: two secrets look the same.
func TestHiddenValuesThatDifferAreSaidToDiffer(t *testing.T) {
	w := listWorld(t)
	w.start()
	w.card("ann", w.ask(`{}`))
	a, b := w.ask(`{"to":"x","password":"one"}`), w.ask(`{"to":"x","password":"two"}`)
	w.gathered()
	w.endWindows()
	_, card := w.digest(0, "")
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese)
	contains(t, dump(card), "- all · to: x\n", fmt.Sprintf("- #%d · password", a.ShortID), fmt.Sprintf("- #%d · password", b.ShortID))
	if text := dump(card); strings.Contains(text, "all · password") || strings.Contains(text, "one\n") {
		t.Errorf("the review shows %s", text)
	}
}

func TestWhatNeedsCareIsDecidedAlone(t *testing.T) {
	w := listWorld(t)
	w.start()
	w.card("ann", w.ask(`{}`))
	plain := []approvals.Request{w.ask(`{"n":1}`), w.ask(`{"n":2}`)}
	kept := map[string]approvals.Request{
		"risk: high":                 w.askAs("main", "agent:main", `{"n":3}`, &policy.ApprovalSettings{Risk: policy.RiskHigh}),
		"needs 2 approvals":          w.askAs("main", "agent:main", `{"n":4}`, &policy.ApprovalSettings{Quorum: 2}),
		"wants a reason":             w.askAs("main", "agent:main", `{"n":5}`, &policy.ApprovalSettings{RequireReason: true}),
		"does not offer":             w.askAs("main", "agent:main", `{"n":6}`, &policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Once}}),
		"arguments do not fit here)": w.ask(`{"n":"` + strings.Repeat("x", 700) + `"}`),
	}
	w.gathered()
	w.endWindows()
	_, card := w.digest(0, "7 requests wait")
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese+"2 once")
	for why, r := range kept {
		contains(t, strings.Join(card.Notes, "\n"), fmt.Sprintf("#%d (", r.ShortID), why)
	}
	contains(t, w.tap("ann", token(card, bot.LabelApproveThese)), fmt.Sprintf("Approved once: #%d, #%d.", plain[0].ShortID, plain[1].ShortID))
	for why, r := range kept {
		if now := w.now(r); now.Status != approvals.Pending || now.Version != r.Version {
			t.Errorf("what is left for its own card (%s) became %s", why, now.Status)
		}
	}
}

// TestWhatOthersDecidedIsLeftOut: the button means what its list showed, and
// what somebody was faster with is named.
func TestWhatOthersDecidedIsLeftOut(t *testing.T) {
	w := listWorld(t)
	bob := w.owner("bob")
	listed := w.issues("one", "two", "three")
	_, card := w.digest(0, "")
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese+"3")
	approve := token(card, bot.LabelApproveThese)
	w.decide(listed[1], bob, false)
	_, now := w.digest(0, bot.LabelApproveThese+"2")
	contains(t, dump(now), fmt.Sprintf("- Decided: #%d ⛔ Rejected", listed[1].ShortID))

	want := fmt.Sprintf("Approved once: 2. Left out: #%d (already rejected).", listed[1].ShortID)
	contains(t, w.tap("ann", approve), want)
	contains(t, w.tap("ann", approve), want) // sent again, told the same
	for i, status := range []approvals.Status{approvals.Approved, approvals.Rejected, approvals.Approved} {
		if now := w.now(listed[i]); now.Status != status || now.Version != 2 {
			t.Errorf("#%d is %s, version %d", now.ShortID, now.Status, now.Version)
		}
	}
	w.digest(0, "None of these 3 requests waits any more")
	contains(t, w.tap("ann", token(card, bot.LabelRejectThese)), "Nothing was changed. Left out:")
}

func TestANumberBringsTheCard(t *testing.T) {
	w := listWorld(t)
	listed := w.issues("one", "two")
	_, card := w.digest(0, "")
	number := token(card, fmt.Sprintf("#%d", listed[0].ShortID))
	w.noted(listed[0])
	contains(t, w.tap("ann", number), "comes.")
	approve := w.token("ann", listed[0], bot.LabelApproveCall)
	w.digest(0, "its own card is in this chat")
	contains(t, w.tap("ann", number), "in this chat already")
	contains(t, w.tap("ann", approve), "Approved once")
	if now := w.now(listed[1]); now.Status != approvals.Pending {
		t.Errorf("the other is %s", now.Status)
	}
	w.digest(0, "1 of 2 requests wait")
	w.see("the closed card", func() bool {
		m := w.find("ann", fmt.Sprintf("✅ Approved · #%d", listed[0].ShortID))
		return m != nil
	})
	contains(t, w.tap("ann", number), "already approved")
}

func TestOnlyTheRecipientUsesADigest(t *testing.T) {
	w := listWorld(t)
	w.member("listed", "bob", policy.Owner, "main")
	listed := w.issues("one", "two")
	_, card := w.digest(0, "")
	if w.lists()[0].to.Identity != "ann" {
		_, card = w.digest(1, "")
	}
	w.tap("ann", token(card, bot.LabelReviewAll))
	var approve string
	w.see("the review", func() bool {
		for _, m := range w.lists() {
			if m.to.Identity == "ann" {
				approve = token(m.card, bot.LabelApproveThese)
			}
		}
		return approve != ""
	})
	contains(t, w.tap("bob", approve), "belongs to somebody else")
	contains(t, w.tap("eve", approve), "belongs to somebody else")
	raw := must(base64.RawURLEncoding.DecodeString(approve))
	for i := range raw {
		forged := slices.Clone(raw)
		forged[i] ^= 1
		contains(t, w.tap("ann", base64.RawURLEncoding.EncodeToString(forged)), "not one of ours")
	}
	w.exec(`DELETE FROM agent_members`)
	contains(t, w.tap("ann", approve), "Nothing was changed. Left out:", "not yours to decide")
	contains(t, w.tap("ann", token(card, bot.LabelReviewAll)), "not yours to decide any more")
	contains(t, w.tap("ann", token(card, "#")), "may not decide")
	for _, r := range listed {
		if now := w.now(r); now.Status != approvals.Pending {
			t.Errorf("#%d is %s", now.ShortID, now.Status)
		}
	}
}

func TestADigestOfOneIsItsCard(t *testing.T) {
	w := listWorld(t)
	bob := w.owner("bob")
	first := w.ask(`{"n":0}`)
	w.start()
	w.card("ann", first)
	one, gone := w.ask(`{"n":1}`), w.ask(`{"n":2}`)
	w.gathered()
	w.decide(gone, bob, true) // before anybody saw it
	w.endWindows()
	w.card("ann", one)
	w.settled()
	if lists := w.lists(); len(lists) != 0 {
		t.Errorf("a list %+v", lists[0].card)
	}
}

// TestNoDigestStandsBetweenARequestAndItsCard: whatever becomes of the message,
// each open request can be reached.
func TestNoDigestStandsBetweenARequestAndItsCard(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		w := listWorld(t)
		w.platform(func(_ string, c bot.Card) error {
			if len(c.Facts) == 0 {
				return errors.New("a layout that the platform does not take")
			}
			return nil
		})
		listed := w.issues("one", "two")
		for _, r := range listed {
			w.poll("the own card", func() bool {
				w.endWindows()
				state, _, _ := w.deliveryAt("ann", r)
				return state == "sent"
			})
			w.card("ann", r)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		w := listWorld(t)
		bob := w.owner("bob")
		listed := w.issues("one", "two", "three")
		m, _ := w.digest(0, "3 requests wait")
		w.noted(listed[0])
		w.chat.mu.Lock()
		w.chat.messages = slices.DeleteFunc(w.chat.messages, func(other *message) bool { return other == m })
		w.chat.mu.Unlock()
		w.decide(listed[0], bob, true)
		w.card("ann", listed[1])
		w.card("ann", listed[2])
		w.settled()
		if m := w.find("ann", fmt.Sprintf("#%d", listed[0].ShortID)); m != nil {
			t.Errorf("a card of what is decided: %+v", m.card)
		}
	})
	t.Run("blocked", func(t *testing.T) {
		w := listWorld(t)
		first := w.ask(`{"n":0}`)
		w.start()
		w.card("ann", first)
		w.platform(func(string, bot.Card) error { return bot.ErrUnreachable })
		listed := []approvals.Request{w.ask(`{"n":1}`), w.ask(`{"n":2}`)}
		w.gathered()
		w.endWindows()
		for _, r := range listed {
			w.poll("the delivery given up", func() bool { state, _, _ := w.deliveryAt("ann", r); return state == "unreachable" })
		}
		w.platform(nil)
		w.store(bot.Event{Kind: bot.Joined, Identity: "ann", Name: "ann", Direct: true})
		w.gathered()
		w.poll("the digest gathers", func() bool {
			var n int
			must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM card_deliveries WHERE digest_id IS NOT NULL`).Scan(&n))
			return n == 2
		})
		w.endWindows()
		w.digest(0, "2 requests wait")
	})
}

// deliveryAt is delivery of the channel that lists.
func (w *world) deliveryAt(who string, r approvals.Request) (state string, shown int, lastError string) {
	w.t.Helper()
	err := w.pool.QueryRow(w.ctx, `
		SELECT state, shown_version, last_error
		FROM card_deliveries
		WHERE request_id = $1
		  AND identity = $2
		  AND channel = 'listed'`, r.ID, who).Scan(&state, &shown, &lastError)
	if err != nil {
		w.t.Fatal(err)
	}
	return state, shown, lastError
}

// TestACrashAfterSendingADigestLeavesNoLie: sent again, the first copy still
// works, and shows the truth once it is used; used before that, it is adopted.
func TestACrashAfterSendingADigestLeavesNoLie(t *testing.T) {
	for _, used := range []bool{false, true} {
		t.Run(fmt.Sprintf("used=%v", used), func(t *testing.T) {
			w := listWorld(t)
			listed := w.issues("one", "two")
			first, card := w.digest(0, "")
			w.noted(listed[0])
			w.settled()
			w.exec(`UPDATE card_digests SET state = 'closed', chat = '', message = '', shown_hash = ''`)
			w.exec(`UPDATE card_deliveries SET state = 'queued', shown_version = 0 WHERE digest_id IS NOT NULL`)
			if used {
				w.tapAt(first.ref, token(card, bot.LabelReviewAll))
			}
			w.tx(func(tx pgx.Tx) error { // the rescued job
				_, err := w.client.InsertManyTx(w.ctx, tx, []river.InsertManyParams{{Args: w.digestJob(), InsertOpts: &river.InsertOpts{Queue: approvals.CardQueue}}})
				return err
			})
			w.settled()
			if !used {
				w.digest(1, "2 requests wait")
				w.tapAt(first.ref, token(card, bot.LabelReviewAll))
			}
			newest := map[bool]int{false: 1, true: 0}[used]
			_, card = w.digest(newest, bot.LabelApproveThese)
			w.tapAt(first.ref, token(card, bot.LabelRejectThese))
			for i := range newest + 1 {
				w.digest(i, "None of these 2")
			}
			if n := len(w.lists()); n != newest+1 {
				t.Errorf("%d lists", n)
			}
		})
	}
}

func (w *world) tapAt(at bot.MessageRef, token string) {
	w.t.Helper()
	w.answerTo("ann", func() {
		w.store(bot.Event{Kind: bot.Tap, Identity: "ann", Name: "ann", Direct: true, Token: token, Message: at})
	})
}

// noted waits until it is known that a list shows r.
func (w *world) noted(r approvals.Request) {
	w.t.Helper()
	w.poll("the digest noted", func() bool { state, _, _ := w.deliveryAt("ann", r); return state == "sent" })
}

// digestJob is the job of the digest that there is.
func (w *world) digestJob() river.JobArgs {
	var id string
	must("", w.pool.QueryRow(w.ctx, `SELECT id FROM card_digests`).Scan(&id))
	return rawJob{ID: id}
}

type rawJob struct {
	ID string `json:"digestId"`
}

func (rawJob) Kind() string { return "bot_digest" }

// TestReconcileRepairsADigest: edits whose jobs are lost are made up for.
func TestReconcileRepairsADigest(t *testing.T) {
	w := listWorld(t)
	bob := w.owner("bob")
	listed := w.issues("one", "two")
	w.digest(0, "")
	w.settled()
	lost := errors.New("down")
	w.platform(func(what string, c bot.Card) error {
		if what == "update" && len(c.Facts) == 0 {
			return lost
		}
		return nil
	})
	w.decide(listed[0], bob, true)
	w.poll("the edit failed", func() bool {
		var n int
		must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM river.river_job WHERE kind = 'approval_update_card' AND cardinality(errors) > 0`).Scan(&n))
		return n > 0
	})
	w.exec(`DELETE FROM river.river_job WHERE queue = 'cards' AND state <> 'running'`)
	w.platform(nil)
	w.exec(`UPDATE approval_requests SET resolved_at = resolved_at - interval '1 minute', created_at = created_at - interval '1 minute' WHERE id = $1`, listed[0].ID)
	w.tx(func(tx pgx.Tx) error {
		_, err := w.client.InsertManyTx(w.ctx, tx, []river.InsertManyParams{{Args: approvals.ReconcileArgs{}}})
		return err
	})
	w.digest(0, "1 of 2 requests wait")
}

// TestReconcileSendsADigestWhoseJobIsLost: nobody waits in it for ever.
func TestReconcileSendsADigestWhoseJobIsLost(t *testing.T) {
	w := listWorld(t)
	first := w.ask(`{"n":0}`)
	w.start()
	w.card("ann", first)
	w.ask(`{"n":1}`)
	w.ask(`{"n":2}`)
	w.gathered()
	w.poll("the cards' own jobs done", func() bool {
		var n int
		must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM river.river_job WHERE kind = 'approval_deliver' AND finalized_at IS NULL`).Scan(&n))
		return n == 0
	})
	w.exec(`DELETE FROM river.river_job WHERE kind = 'bot_digest'`)
	w.tx(func(tx pgx.Tx) error {
		_, err := w.client.InsertManyTx(w.ctx, tx, []river.InsertManyParams{{Args: approvals.ReconcileArgs{}}})
		return err
	})
	w.digest(0, "2 requests wait")
}

// TestADigestTakesNothingFromACardInTheChat: a crash can leave a request's own card
// in the chat before a digest lists it. Whatever becomes of the digest, the card
// that was tapped stays what it is and shows what holds.
func TestADigestTakesNothingFromACardInTheChat(t *testing.T) {
	for name, spoil := range map[string]func(w *world, open approvals.Request, bob string){
		"not delivered": func(w *world, _ approvals.Request, _ string) {
			w.platform(func(what string, c bot.Card) error {
				if what == "send" && len(c.Facts) == 0 && len(c.Args) > 0 {
					return bot.ErrUnreachable
				}
				return nil
			})
		},
		"decided before": func(w *world, open approvals.Request, bob string) { w.decide(open, bob, true) },
	} {
		t.Run(name, func(t *testing.T) {
			w := listWorld(t)
			bob := w.owner("bob")
			first := w.ask(`{"title":"first"}`)
			w.start()
			w.card("ann", first)
			open := w.ask(`{"n":1}`)
			w.ask(`{"n":2}`)
			w.ask(`{"n":3}`)
			w.gathered()
			left := must(w.chat.Send(w.ctx, bot.Recipient{Identity: "ann"}, bot.Card{Head: "left behind", Facts: []bot.Fact{{Label: "x", Value: "y"}}}))
			w.tapAt(left, w.button(open, approvals.ShowDetails))
			spoil(w, open, bob)
			w.endWindows()
			w.poll("the digest over", func() bool {
				var n int
				must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM card_digests WHERE state IN ('sent', 'dissolved')`).Scan(&n))
				return n == 1
			})
			if state, _, why := w.deliveryAt("ann", open); state != "sent" || why != "" {
				t.Errorf("the card is %s (%s)", state, why)
			}
			w.platform(nil)
			if w.now(open).Status == approvals.Pending {
				w.decide(open, bob, true)
			}
			w.see("the end on the card that was there", func() bool {
				for _, m := range w.chat.messages {
					if m.ref == left {
						return strings.Contains(dump(m.card), "Approved")
					}
				}
				return false
			})
		})
	}
}

// TestATapIsAheadOfADigestThatFails: the platform delivers the list, and answers
// that it does not. Who taps it keeps it.
func TestATapIsAheadOfADigestThatFails(t *testing.T) {
	w := listWorld(t)
	first := w.ask(`{"title":"first"}`)
	w.start()
	w.card("ann", first)
	listed := []approvals.Request{w.ask(`{"n":1}`), w.ask(`{"n":2}`)}
	w.gathered()
	var tapped sync.Once
	w.platform(func(what string, c bot.Card) error {
		if what != "send" || len(c.Facts) > 0 || len(c.Args) == 0 {
			return nil
		}
		tapped.Do(func() {
			w.chat.mu.Lock()
			m := &message{ref: bot.MessageRef{Chat: "chat-ann", Message: "arrived"}, to: bot.Recipient{Identity: "ann"}, card: c}
			w.chat.messages = append(w.chat.messages, m)
			w.chat.touch()
			w.chat.mu.Unlock()
			w.tapAt(m.ref, token(c, bot.LabelReviewAll))
		})
		return bot.ErrUnreachable
	})
	w.endWindows()
	m, _ := w.digest(0, bot.LabelApproveThese)
	w.settled()
	w.platform(nil)
	for _, r := range listed {
		if state, _, why := w.deliveryAt("ann", r); state != "sent" {
			t.Errorf("a card is %s (%s)", state, why)
		}
	}
	if routes := must(w.bot.ClosedRoutes(w.ctx)); len(routes) != 0 {
		t.Errorf("who tapped cannot be written to: %+v", routes)
	}
	w.tapAt(m.ref, token(m.card, bot.LabelRejectThese))
	w.digest(0, "None of these 2")
}

// TestATapOnACardBesideItsListAdoptsIt: a crash between the platform's answer and
// the commit left the card that was asked for by its number; the list shows its
// request as well.
func TestATapOnACardBesideItsListAdoptsIt(t *testing.T) {
	w := listWorld(t)
	bob := w.owner("bob")
	listed := w.issues("one", "two")
	w.digest(0, "2 requests wait")
	w.noted(listed[0])
	left := must(w.chat.Send(w.ctx, bot.Recipient{Identity: "ann"}, bot.Card{Head: "left behind", Facts: []bot.Fact{{Label: "x", Value: "y"}}}))
	w.tapAt(left, w.button(listed[0], approvals.ShowDetails))
	w.decide(listed[0], bob, true)
	w.see("the end on the card that was there", func() bool {
		for _, m := range w.chat.messages {
			if m.ref == left {
				return strings.Contains(dump(m.card), "Approved")
			}
		}
		return false
	})
	w.digest(0, "1 of 2 requests wait")
}

// button is the token of a button on the card of r at ann.
func (w *world) button(r approvals.Request, a approvals.Action) string {
	w.t.Helper()
	var id []byte
	must("", w.pool.QueryRow(w.ctx, `SELECT button_id FROM card_deliveries WHERE request_id = $1 AND identity = 'ann'`, r.ID).Scan(&id))
	return approvals.ButtonToken(w.keeper, id, r, w.namespace, "ann", a)
}

// TestWhatIsHeldIsLeftOut: a request for which somebody writes a reason, and what
// its reader may not decide any more, stay as they are.
func TestWhatIsHeldIsLeftOut(t *testing.T) {
	w := listWorld(t)
	bob := w.owner("bob")
	listed := w.issues("one", "two", "three")
	_, card := w.digest(0, "")
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese+"3")
	must(w.svc.Await(w.ctx, "main", listed[0].ID, approvals.Reject, approvals.Actor{UserID: bob, Name: "Bob", Via: "api"}))
	contains(t, w.tap("ann", token(card, bot.LabelApproveThese)),
		fmt.Sprintf("Approved once: 2. Left out: #%d (a reason is being written).", listed[0].ShortID))
	if now := w.now(listed[0]); now.Status != approvals.Pending || now.Held() == nil {
		t.Errorf("what bob holds is %s", now.Status)
	}
}

// TestAListOfWhoIsNoOwnerAnyMoreDecidesNothing: its buttons are as old as the list.
func TestAListOfWhoIsNoOwnerAnyMoreDecidesNothing(t *testing.T) {
	w := listWorld(t)
	w.owner("bob")
	listed := w.issues("one", "two")
	_, card := w.digest(0, "")
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese+"2")
	w.exec(`UPDATE agent_members SET role = 'guest' FROM user_identities i WHERE i.user_id = agent_members.user_id AND i.channel = 'listed'`)
	answer := w.tap("ann", token(card, bot.LabelApproveThese))
	if strings.Contains(answer, "Approved") {
		t.Errorf("answered %q", answer)
	}
	for _, r := range listed {
		if now := w.now(r); now.Status != approvals.Pending {
			t.Errorf("#%d is %s", r.ShortID, now.Status)
		}
	}
}
