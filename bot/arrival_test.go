package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// journal is a channel that writes down what it is asked to do for whom, and fails
// now and then: once for one thing, since the answer to a tap is given up.
type journal struct {
	*recorder

	mu     sync.Mutex
	done   map[string][]string
	failed map[string]bool
}

func newJournal() *journal {
	return &journal{recorder: newRecorder("log"), done: map[string][]string{}, failed: map[string]bool{}}
}

func (j *journal) note(who, what string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.failed[who+what] && rand.IntN(6) == 0 {
		j.failed[who+what] = true
		return errors.New("the platform is out of order")
	}
	if did := j.done[who]; len(did) == 0 || did[len(did)-1] != what { // sent again after a stop
		j.done[who] = append(did, what)
	}
	return nil
}

func (j *journal) did(who string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.done[who])
}

func (j *journal) Send(_ context.Context, to bot.Recipient, card bot.Card) (bot.MessageRef, error) {
	_, word, _ := strings.Cut(card.Head, "“")
	word, _, _ = strings.Cut(word, "”")
	return bot.MessageRef{Chat: to.Identity, Message: "1"}, j.note(to.Identity, word)
}

func (j *journal) Answer(_ context.Context, ev bot.Event, _ string) error {
	return j.note(ev.Identity, ev.Text)
}

// doing is the n-th thing that somebody does: each third is a tap.
func doing(who string, n int) bot.Incoming {
	ev := bot.Event{Kind: bot.Text, Command: true, Identity: who, Direct: true, Text: fmt.Sprintf("n%d", n)}
	if n%3 == 0 {
		ev.Kind, ev.Token = bot.Tap, "nothing"
	}
	return bot.Incoming{ID: fmt.Sprintf("%s-%d", who, n), Payload: must(json.Marshal(ev))}
}

// TestOnePersonsEventsAreHandledInTheOrderOfTheirArrival: taps and texts that come
// in many batches to two processes, which work them with a platform that fails now
// and then, while others come and go.
func TestOnePersonsEventsAreHandledInTheOrderOfTheirArrival(t *testing.T) {
	log := newJournal()
	w := idleWorld(t, log)
	w.namespace = "log"
	w.start()
	twin, _ := w.startTwin(log)
	bots := []*bot.Bot{w.bot, twin}
	const people, events = 5, 30
	var want []string
	for n := range events {
		want = append(want, fmt.Sprintf("n%d", n))
	}
	var writing sync.WaitGroup
	for p := range people {
		who := fmt.Sprintf("p%d", p)
		w.member("log", who, policy.Guest, "main")
		writing.Go(func() {
			for n := 0; n < events; {
				var batch []bot.Incoming
				for range min(1+rand.IntN(4), events-n) {
					batch = append(batch, doing(who, n))
					n++
				}
				for range 2 { // platforms repeat what they think was not taken
					if err := bots[n%2].Store(w.ctx, "log", batch...); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 3 {
		_, stop := w.startTwin(log)
		before := len(log.did("p0"))
		w.poll("some of it", func() bool { return len(log.did("p0")) > before })
		stop()
	}
	writing.Wait()
	for p := range people {
		who := fmt.Sprintf("p%d", p)
		w.poll("all that "+who+" did", func() bool { return len(log.did(who)) >= events })
		if diff := cmp.Diff(want, log.did(who)); diff != "" {
			t.Errorf("%s: %s", who, diff)
		}
	}
}

// TestTheFirstOfTwoAnswersCounts: they come in one batch.
func TestTheFirstOfTwoAnswersCounts(t *testing.T) {
	w := newWorld(t)
	w.startTwin()
	w.owner("ann")
	for n := range 8 {
		r := w.ask(fmt.Sprintf(`{"n":%d}`, n))
		no, yes := w.token("ann", r, "Reject"), w.token("ann", r, "Approve this call")
		tap := func(token string) bot.Incoming {
			return bot.Incoming{ID: token, Payload: must(json.Marshal(bot.Event{Kind: bot.Tap, Identity: "ann", Direct: true, Token: token}))}
		}
		if err := w.bot.Store(w.ctx, "chat", tap(no), tap(yes)); err != nil {
			t.Fatal(err)
		}
		w.poll("both taps handled", func() bool { return w.handled() == 2*(n+1) })
		if now := w.now(r); now.Status != approvals.Rejected {
			t.Errorf("request %d: rejected, then approved, it is %s", n, now.Status)
		}
	}
}

// TestRulesAreChangedInTheOrderTyped: what is allowed and forgotten is not allowed.
func TestRulesAreChangedInTheOrderTyped(t *testing.T) {
	w := newWorld(t)
	w.startTwin()
	w.owner("ann")
	typed := func(n int, text string) bot.Incoming {
		ev := bot.Event{Kind: bot.Text, Command: true, Identity: "ann", Direct: true, Text: text}
		return bot.Incoming{ID: fmt.Sprint(n, text), Payload: must(json.Marshal(ev))}
	}
	for n := range 8 {
		if err := w.bot.Store(w.ctx, "chat", typed(n, "allow mcp__shop__list"), typed(n, "forget mcp__shop__list allow")); err != nil {
			t.Fatal(err)
		}
		w.poll("both handled", func() bool { return w.handled() == 2*(n+1) })
		var rows int
		must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM agent_policies WHERE resource_key = 'mcp__shop__list'`).Scan(&rows))
		if rows != 0 {
			t.Fatalf("round %d: allowed, then forgotten, %d rows stay", n, rows)
		}
	}
}

// TestARetryHoldsBackItsPersonAlone: until it is given up.
func TestARetryHoldsBackItsPersonAlone(t *testing.T) {
	w := idleWorld(t)
	w.chat.beforeSendTo = func(to bot.Recipient) error {
		if to.Identity == "gus" {
			return errors.New("the platform is out of order")
		}
		return nil
	}
	w.start()
	w.owner("ann")
	w.member("chat", "gus", policy.Guest, "main")
	w.types("gus", "whoami")
	w.store(bot.Event{Kind: bot.Tap, Identity: "gus", Direct: true, Token: "nothing"})
	w.poll("a failed attempt", func() bool { return w.attempts() > 1 })
	contains(t, w.says("ann", "whoami"), "Ann")
	w.chat.mu.Lock()
	if len(w.chat.answers) != 0 {
		t.Errorf("the later tap went ahead: %+v", w.chat.answers)
	}
	w.chat.mu.Unlock()
	w.poll("the text given up, and the tap answered", func() bool {
		w.exec(`UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'inbox_handle' AND state IN ('retryable', 'available')`)
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		return len(w.chat.answers) == 1
	})
}

// attempts is how often the jobs of events were begun that are not done.
func (w *world) attempts() (n int) {
	w.t.Helper()
	must("", w.pool.QueryRow(w.ctx, `
		SELECT COALESCE(max(attempt), 0)
		FROM river.river_job
		WHERE kind = 'inbox_handle'
		  AND state <> 'completed'`).Scan(&n))
	return n
}
