package approvals_test

import (
	"testing"
	"time"

	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/policy"
)

func inPlace(c *approvals.Call) { c.Realtime = 2 * time.Minute }

// TestCardsWaitForTheDialog: they are held back with a job that sends them, in
// the transaction that asks.
func TestCardsWaitForTheDialog(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, by(w.olga), inPlace))
	cards := func() int { return w.count(`SELECT count(*) FROM card_deliveries WHERE request_id = $1`, r.ID) }
	if r.Mode != approvals.Realtime || cards() != 0 {
		t.Fatalf("mode %s, %d cards", r.Mode, cards())
	}
	if n := w.count(`
		SELECT count(*)
		FROM river.river_job
		WHERE kind = 'approval_end_realtime'
		  AND args ->> 'requestId' = $1
		  AND scheduled_at BETWEEN now() + interval '110 seconds' AND now() + interval '2 minutes'`, r.ID); n != 1 {
		t.Errorf("%d jobs end the dialog's time", n)
	}
	watch := &approvals.PendingWatch{Queryer: w.pool, AgentID: "main"}
	if events, err := watch.Next(ctx); err != nil || len(events) != 0 {
		t.Errorf("owners are told: %v, %v", events, err)
	}
	work := func() {
		worker := &approvals.EndRealtimeWorker{Service: w.svc}
		w.ok(worker.Work(ctx, &river.Job[approvals.EndRealtimeArgs]{Args: approvals.EndRealtimeArgs{RequestID: r.ID}}))
	}
	work()
	work() // twice, as after a crash
	if now := w.get(r.ID); now.Mode != approvals.Async || now.Status != approvals.Pending || cards() != 1 {
		t.Errorf("handed over: %+v, %d cards", now, cards())
	}
	if events, err := watch.Next(ctx); err != nil || len(events) != 1 {
		t.Errorf("owners are told: %v, %v", events, err)
	}
}

func TestADecidedDialogIsNotHandedOver(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{}`, by(w.olga), inPlace)), policy.Single)
	now, err := w.svc.EndRealtime(ctx, r.ID)
	w.ok(err)
	if now.Mode != approvals.Realtime || now.Status != approvals.Approved || now.Version != r.Version {
		t.Errorf("handed over: %+v", now)
	}
	worker := &approvals.EndRealtimeWorker{Service: w.svc}
	w.ok(worker.Work(ctx, &river.Job[approvals.EndRealtimeArgs]{Args: approvals.EndRealtimeArgs{RequestID: "gone"}}))
}
