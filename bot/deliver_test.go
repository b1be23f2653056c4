package bot_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/bot"
	"holm/internal/identity"
	"holm/policy"
)

// decide answers r as an owner at some other surface.
func (w *world) decide(r approvals.Request, owner string, approve bool) {
	w.t.Helper()
	d := approvals.Decision{
		AgentID: r.AgentID, RequestID: r.ID, Approve: approve, Resolution: policy.Single,
		Actor: approvals.Actor{UserID: owner, Name: "Ann", Via: "api"},
	}
	if !approve {
		d.Reason = "not today"
	}
	must(w.svc.Decide(w.ctx, d))
}

// hold makes the platform wait with its next call of a kind, and with that one
// alone, until release is called; entered is closed when it waits.
func (w *world) hold(what string) (entered <-chan struct{}, release func()) {
	in, out := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	w.platform(func(call string, _ bot.Card) error {
		if call != what || !held.CompareAndSwap(false, true) {
			return nil
		}
		close(in)
		select {
		case <-out:
		case <-time.After(2 * waitFor): // the test has failed and waits for its jobs to end
		}
		return nil
	})
	return in, sync.OnceFunc(func() { close(out) })
}

func (w *world) platform(before func(string, bot.Card) error) {
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	w.chat.before = before
}

// settled waits until no event is left to be handled and no card to be sent.
func (w *world) settled() {
	w.t.Helper()
	w.poll("all jobs done", func() bool {
		var open bool
		err := w.pool.QueryRow(w.ctx, `
			SELECT EXISTS (
			    SELECT 1
			    FROM river.river_job
			    WHERE queue IN ('inbox', 'cards')
			      AND finalized_at IS NULL
			)`).Scan(&open)
		return must(!open, err)
	})
}

// hurry lets jobs that wait for another attempt run at once.
func (w *world) hurry() {
	w.exec(`UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE state IN ('retryable', 'scheduled')`)
}

func TestDecisionWhileTheCardIsBeingSentLeavesNoButtons(t *testing.T) {
	w := idleWorld(t)
	ann := w.owner("ann")
	entered, release := w.hold("send")
	w.start()
	r := w.ask(`{}`)
	<-entered
	w.decide(r, ann, true)
	release()
	w.see("the closed card", func() bool {
		m := w.find("ann", "✅ Approved · #1")
		return m != nil && len(m.card.Buttons) == 0
	})
	w.settled()
	if len(w.chat.messages) != 1 {
		t.Errorf("%d cards were sent", len(w.chat.messages))
	}
}

func TestDecisionBeforeTheCardIsSentSkipsIt(t *testing.T) {
	w := idleWorld(t)
	ann := w.owner("ann")
	r := w.ask(`{}`)
	w.decide(r, ann, false)
	w.start()
	w.settled()
	if state, _, _ := w.delivery("ann", r); state != "skipped" || len(w.chat.messages) != 0 {
		t.Errorf("delivery is %s, %d messages", state, len(w.chat.messages))
	}
}

func TestAnOlderStateNeverOverwritesANewerOne(t *testing.T) {
	w := idleWorld(t)
	ann := w.owner("ann")
	w.start()
	r := w.ask(`{}`)
	w.card("ann", r)
	w.settled()
	entered, release := w.hold("update")
	w.decide(r, ann, true)
	<-entered // the edit to "approved" is under way
	claimed, ok, err := w.claim(r, nil)
	if err != nil || !ok {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	if err := w.svc.Finish(w.ctx, claimed.ID, approvals.Succeeded, nil); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, release) // the edits to come queue up behind
	w.settled()
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if m := w.find("ann", "✅ Done · #1"); m == nil {
		t.Errorf("the card shows %q", w.chat.messages[0].card.Head)
	} else if m.edits > 2 {
		t.Errorf("%d edits, want those that changed something", m.edits)
	}
}

func TestTwoProcessesNeverWorkOnOneCardAtOnce(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	entered, release := w.hold("send")
	w.startTwin()
	w.start()
	r := w.ask(`{}`)
	<-entered
	// The same job again and again, as a repair might queue it, for both to take.
	w.exec(`
		INSERT INTO river.river_job (args, kind, max_attempts, queue, state)
		SELECT args, kind, max_attempts, queue, 'available'
		FROM river.river_job
		CROSS JOIN generate_series(1, 20)
		WHERE kind = 'approval_deliver'`)
	w.poll("ended tries by both processes", func() bool {
		var processes int
		must("", w.pool.QueryRow(w.ctx, `
			SELECT count(DISTINCT attempted_by[cardinality(attempted_by)])
			FROM river.river_job
			WHERE kind = 'approval_deliver'
			  AND state <> 'running'`).Scan(&processes))
		return processes == 2
	})
	release()
	w.card("ann", r)
	w.settled()
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if len(w.chat.messages) != 1 {
		t.Errorf("%d cards were sent", len(w.chat.messages))
	}
}

func TestFailuresOfADelivery(t *testing.T) {
	t.Run("a person who cannot be reached", func(t *testing.T) {
		w := idleWorld(t)
		w.owner("ann")
		w.platform(func(string, bot.Card) error { return fmt.Errorf("blocked: %w", bot.ErrUnreachable) })
		w.start()
		r := w.ask(`{}`)
		w.settled()
		if state, attempts, why := w.delivery("ann", r); state != "unreachable" || attempts != 1 || !strings.Contains(why, "blocked") {
			t.Errorf("delivery is %s after %d attempts: %s", state, attempts, why)
		}
		// They open the chat again: what waits comes by itself.
		w.platform(nil)
		contains(t, w.says("ann", "start"), "You are owner of agent main.")
		w.card("ann", r)
	})
	t.Run("a channel that is not connected", func(t *testing.T) {
		w := newWorld(t)
		w.member("telegram", "123", policy.Owner, "main")
		r := w.ask(`{}`)
		w.settled()
		if state, _, why := w.delivery("123", r); state != "unreachable" || why != "channel telegram is not connected" {
			t.Errorf("delivery is %s: %s", state, why)
		}
	})
	t.Run("a rate limit", func(t *testing.T) {
		w := idleWorld(t)
		w.owner("ann")
		var calls atomic.Int32
		w.platform(func(string, bot.Card) error {
			if calls.Add(1) == 1 {
				return &bot.RetryError{After: time.Hour, Err: errors.New("429")}
			}
			return nil
		})
		w.start()
		r := w.ask(`{}`)
		w.poll("the job put off for an hour", func() bool {
			var n int
			must("", w.pool.QueryRow(w.ctx, `
				SELECT count(*)
				FROM river.river_job
				WHERE kind = 'approval_deliver'
				  AND state = 'scheduled'
				  AND attempt = 0
				  AND scheduled_at > now() + interval '59 minutes'`).Scan(&n))
			return n == 1
		})
		w.hurry()
		w.card("ann", r)
	})
	t.Run("a failure that passes", func(t *testing.T) {
		w := idleWorld(t)
		w.owner("ann")
		var calls atomic.Int32
		w.platform(func(string, bot.Card) error {
			if calls.Add(1) == 1 {
				return errors.New("bad gateway")
			}
			return nil
		})
		w.start()
		r := w.ask(`{}`)
		w.card("ann", r)
		w.settled()
		if state, attempts, why := w.delivery("ann", r); state != "sent" || attempts != 2 || why != "" {
			t.Errorf("delivery is %s after %d attempts: %s", state, attempts, why)
		}
	})
	t.Run("a failure that lasts longer than the question", func(t *testing.T) {
		w := idleWorld(t)
		ann := w.owner("ann")
		w.platform(func(string, bot.Card) error { return errors.New("bad gateway") })
		w.start()
		r := w.ask(`{}`)
		w.poll("a failed attempt", func() bool { _, n, why := w.delivery("ann", r); return n > 0 && why == "bad gateway" })
		w.decide(r, ann, false)
		w.poll("the delivery given up", func() bool {
			w.hurry()
			state, _, _ := w.delivery("ann", r)
			return state == "skipped"
		})
	})
}

func TestEditsThatFail(t *testing.T) {
	for name, failure := range map[string]error{
		"a message that is gone": fmt.Errorf("deleted: %w", bot.ErrGone),
		"a blocked bot":          fmt.Errorf("blocked: %w", bot.ErrUnreachable),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ann := w.owner("ann")
			r := w.ask(`{}`)
			w.card("ann", r)
			w.settled()
			w.platform(func(string, bot.Card) error { return failure })
			w.decide(r, ann, true)
			w.settled()
			var shown int
			must("", w.pool.QueryRow(w.ctx, `SELECT shown_version FROM card_deliveries`).Scan(&shown))
			if _, _, why := w.delivery("ann", r); shown != 2 || why != failure.Error() {
				t.Errorf("the card counts as version %d: %q", shown, why)
			}
		})
	}
	t.Run("a rate limit", func(t *testing.T) {
		w := newWorld(t)
		ann := w.owner("ann")
		r := w.ask(`{}`)
		w.card("ann", r)
		w.settled()
		var calls atomic.Int32
		w.platform(func(string, bot.Card) error {
			if calls.Add(1) == 1 {
				return &bot.RetryError{After: time.Millisecond, Err: errors.New("429")}
			}
			return nil
		})
		w.decide(r, ann, true)
		w.see("the closed card", func() bool { return w.find("ann", "✅ Approved") != nil })
	})
}

func TestFormerOwnersAreSentNothing(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.exec(`DELETE FROM agent_members`)
	w.start()
	w.settled()
	if state, _, _ := w.delivery("ann", r); state != "skipped" || len(w.chat.messages) != 0 {
		t.Errorf("delivery is %s, %d messages", state, len(w.chat.messages))
	}
}

func TestCardsOfARemovedAgentAreForgotten(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	w.ask(`{}`)
	w.tx(func(tx pgx.Tx) error { return identity.RemoveAgent(w.ctx, tx, "main", "test") })
	w.start()
	w.settled()
	if len(w.chat.messages) != 0 {
		t.Errorf("%d messages", len(w.chat.messages))
	}
}

func TestTheLockSurvivesALostSession(t *testing.T) {
	w := idleWorld(t)
	ann := w.owner("ann")
	entered, release := w.hold("send")
	w.start()
	r := w.ask(`{}`)
	<-entered
	w.exec(`
		SELECT pg_terminate_backend(pid)
		FROM pg_locks
		WHERE locktype = 'advisory'
		  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		  AND pid <> pg_backend_pid()`)
	w.ask(`{"n":2}`) // its card takes a turn on a new session
	w.poll("the second card sent", func() bool {
		var sent int
		must("", w.pool.QueryRow(w.ctx, `
			SELECT count(*)
			FROM river.river_job
			WHERE kind = 'approval_deliver'
			  AND finalized_at IS NOT NULL`).Scan(&sent))
		return sent == 1
	})
	// The session that the second card opened takes the first card's lock as well.
	w.poll("the lock of the card that is being sent", func() bool { return w.locks() == 1 })
	w.decide(r, ann, true)
	release()
	w.see("the closed card", func() bool { m := w.find("ann", "✅ Approved"); return m != nil && len(m.card.Buttons) == 0 })
	w.settled()
	w.poll("no lock left", func() bool { return w.locks() == 0 })
}

// locks counts the turns that are taken in any process.
func (w *world) locks() (n int) {
	must("", w.pool.QueryRow(w.ctx, `
		SELECT count(*)
		FROM pg_locks
		WHERE locktype = 'advisory'
		  AND objsubid = 1
		  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n))
	return n
}

func TestRequestersAreToldInTheirOwnChat(t *testing.T) {
	w := newWorld(t)
	ann := w.owner("ann")
	gus := w.member("chat", "gus", policy.Guest, "main")
	rejected := w.askAs("main", gus, `{"n":1}`, nil)
	w.decide(rejected, ann, false)
	w.see("the rejection with its reason", func() bool { return w.told("gus", "Request #1", "rejected by Ann (api)", "“not today”") })

	ran := w.askAs("main", gus, `{"n":2}`, nil)
	w.decide(ran, ann, true)
	w.see("the approval", func() bool { return w.told("gus", "Request #2", "approved, this call only, by Ann") })
	claimed, _, err := w.claim(ran, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.settled() // nobody is told that a call began
	if err := w.svc.Finish(w.ctx, claimed.ID, approvals.Failed, nil); err != nil {
		t.Fatal(err)
	}
	w.see("the outcome", func() bool { return w.told("gus", "Request #2", "The call failed") })

	expired := w.askAs("main", gus, `{"n":3}`, nil)
	w.exec(`UPDATE approval_requests SET expires_at = now() WHERE id = $1`, expired.ID)
	must(w.svc.Expire(w.ctx, expired.ID))
	w.see("the expiry", func() bool { return w.told("gus", "Request #3", "expired at") })
	w.settled()
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	n := 0
	for _, m := range w.chat.messages {
		if m.to.Identity == "gus" {
			n++
		}
	}
	if n != 4 {
		t.Errorf("gus got %d messages, want four", n)
	}
}

// told is called with the recorder's lock held.
func (w *world) told(who string, parts ...string) bool {
	for _, m := range w.chat.messages {
		all := m.to.Identity == who
		for _, part := range parts {
			all = all && strings.Contains(m.card.Head, part)
		}
		if all {
			return true
		}
	}
	return false
}
