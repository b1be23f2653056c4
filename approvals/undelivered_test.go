package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
)

// mark works the job that looks whether r has reached anybody.
func (w *world) mark(r approvals.Request) bool {
	w.t.Helper()
	w.ok((&approvals.UndeliveredWorker{Service: w.svc}).Work(ctx, &river.Job[approvals.UndeliveredArgs]{Args: approvals.UndeliveredArgs{RequestID: r.ID}}))
	return w.get(r.ID).UndeliveredAt != nil
}

// minutePasses makes all questions and cards a minute older.
func (w *world) minutePasses() {
	w.t.Helper()
	w.exec(`UPDATE card_deliveries SET created_at = created_at - interval '61 seconds'`)
	w.exec(`UPDATE approval_requests SET created_at = created_at - interval '61 seconds'`)
}

func (w *world) toldTimes(event string) int {
	w.t.Helper()
	return w.count(`SELECT count(*) FROM session_events WHERE type = $1`, event)
}

func TestAQuestionThatReachesNobodyIsMarkedAfterAMinute(t *testing.T) {
	w := newWorld(t)
	q, second, _ := w.thrice()
	if w.mark(q) {
		t.Fatal("marked while its card is on its way")
	}
	w.minutePasses()
	w.reconcile() // as after a restart that lost the job
	if !w.mark(q) || w.get(second.ID).UndeliveredAt == nil || w.get(q.ID).Status != approvals.Pending {
		t.Fatalf("not marked: %+v", w.get(q.ID))
	}
	w.reconcile()
	if n := w.toldTimes("approval_undelivered"); n != 3 {
		t.Errorf("told %d times, want once in each session", n)
	}

	// A card arrives after all.
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		wake, err := w.svc.Delivered(ctx, tx, q.ID)
		if err != nil {
			return err
		}
		wake()
		_, err = tx.Exec(ctx, `UPDATE card_deliveries SET state = 'sent'`)
		return err
	}))
	w.reconcile()
	if w.mark(q) || w.get(second.ID).UndeliveredAt != nil || w.toldTimes("approval_delivered") != 3 {
		t.Errorf("still marked, or told %d times", w.toldTimes("approval_delivered"))
	}
	news := w.column(`SELECT args ->> 'news' FROM river.river_job WHERE kind = 'approval_notify_requester' ORDER BY id`)
	if got := strings.Join(news, " "); got != "approval_undelivered approval_delivered" {
		t.Errorf("the requester hears %q", got)
	}
}

func TestWithoutAWayToAnybodyItIsMarkedToo(t *testing.T) {
	w := newWorld(t)
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error { _, err := identity.Leave(ctx, tx, "main", w.olga, true, "test"); return err }))
	r := w.ask(w.call(`{}`))
	if w.mark(r) {
		t.Error("marked within the minute")
	}
	w.minutePasses()
	if !w.mark(r) || w.toldTimes("approval_undelivered") != 1 {
		t.Error("not told")
	}
	if got, err := w.svc.Decide(ctx, approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Actor: operator}); err != nil || got.Status != approvals.Approved {
		t.Errorf("an operator cannot answer: %v", err)
	}
}

// Whoever joins a question that reaches nobody is told so as the first one was.
func TestADuplicateOfAnUndeliveredQuestionIsToldSo(t *testing.T) {
	w := newWorld(t)
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error { _, err := identity.Leave(ctx, tx, "main", w.olga, true, "test"); return err }))
	q := w.ask(w.call(`{}`, inSession("s1")))
	w.minutePasses()
	second := w.ask(w.call(`{}`, inSession("s2"))) // before the mark, and told with the first
	if !w.mark(q) || w.get(second.ID).UndeliveredAt == nil {
		t.Error("not marked")
	}
	if third := w.ask(w.call(`{}`, inSession("s3"))); third.UndeliveredAt == nil {
		t.Error("who joins is not marked")
	}
	for session, want := range map[string]string{
		"s1": "approval_requested 1, approval_undelivered 1", "s2": "approval_requested 2, approval_undelivered 2",
		"s3": "approval_requested 3, approval_undelivered 3",
	} {
		if got := strings.Join(w.events(session), ", "); got != want {
			t.Errorf("session %s was told %q, want %q", session, got, want)
		}
	}
}

func TestAHandOverToNobodyIsKnownAtOnce(t *testing.T) {
	w := newWorld(t)
	w.exec(`DELETE FROM user_identities`)
	r := w.ask(w.call(`{}`, func(c *approvals.Call) { c.Realtime = time.Minute }))
	w.minutePasses()
	if w.mark(r) {
		t.Fatal("undelivered while it is asked in its session")
	}
	if _, err := w.svc.EndRealtime(ctx, r.ID); err != nil || w.get(r.ID).UndeliveredAt == nil {
		t.Errorf("not told (%v)", err)
	}
}

func TestWhatHasReachedSomebodyOrEndedIsNotMarked(t *testing.T) {
	w := newWorld(t)
	sent, done := w.ask(w.call(`{"n":1}`)), w.reject(w.ask(w.call(`{"n":2}`)))
	w.exec(`UPDATE card_deliveries SET state = 'sent' WHERE request_id = $1`, sent.ID)
	w.minutePasses()
	w.reconcile()
	if w.mark(sent) || w.mark(done) {
		t.Error("marked")
	}
	w.ok(w.svc.MarkUndelivered(ctx, "gone with its agent"))
}
