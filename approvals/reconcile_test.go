package approvals_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/wake"
	"holm/policy"
)

// alive runs a hub, so that its process counts as living until end is called.
func alive(t *testing.T, hub *wake.Hub) (end func()) {
	t.Helper()
	ready := hub.Wait("ready")
	defer ready.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	ended := false
	end = func() {
		if !ended {
			ended = true
			cancel()
			<-done
		}
	}
	t.Cleanup(end)
	select {
	case <-ready.C:
	case <-time.After(20 * time.Second):
		t.Fatal("the hub does not listen")
	}
	return end
}

func (w *world) reconcile() {
	w.t.Helper()
	w.ok((&approvals.ReconcileWorker{Service: w.svc}).Work(ctx, &river.Job[approvals.ReconcileArgs]{}))
}

func TestReconcileExpiresWhatIsOverdue(t *testing.T) {
	w := newWorld(t)
	overdue, open := w.ask(w.call(`{"n":1}`)), w.ask(w.call(`{"n":2}`))
	w.overdue(overdue)
	w.reconcile()
	if a, b := w.get(overdue.ID).Status, w.get(open.ID).Status; a != approvals.Expired || b != approvals.Pending {
		t.Errorf("overdue %s, open %s", a, b)
	}
}

func TestACallOfADeadProcessHasAnUnknownOutcome(t *testing.T) {
	w := newWorld(t)
	hub, other := w.process()
	end := alive(t, hub)
	r := w.approve(w.ask(w.call(`{}`)), policy.Single)
	if _, ok, err := other.Claim(ctx, r, callOf(r)); err != nil || !ok {
		t.Fatalf("claimed %v, error %v", ok, err)
	}
	w.reconcile()
	if got := w.get(r.ID); got.FinishedAt != nil {
		t.Fatal("the call of a living process was ended")
	}

	end()
	// The server notices the end of a connection in its own time, and some looks
	// must agree.
	for deadline := time.Now().Add(20 * time.Second); w.get(r.ID).FinishedAt == nil && time.Now().Before(deadline); {
		w.reconcile()
	}
	if got := w.get(r.ID); got.Outcome == nil || *got.Outcome != approvals.Unknown {
		t.Fatalf("request %+v, want an unknown outcome", got)
	}
	w.reconcile()
	if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_executed'`); n != 1 {
		t.Errorf("%d events of the outcome, want 1", n)
	}
	if w.claims(r) {
		t.Error("a call that may have run was claimed again")
	}

	// It was only cut off from the database, and knows better.
	w.ok(other.Finish(ctx, r.ID, approvals.Succeeded, []byte(`1`)))
	if got := w.get(r.ID); *got.Outcome != approvals.Succeeded || string(got.Result) != "1" {
		t.Errorf("corrected to %+v", got)
	}
}

// The first look at a process without a connection decides nothing, however
// old its calls are.
func TestAProcessThatMayConnectAnewIsSpared(t *testing.T) {
	w := newWorld(t)
	_, other := w.process()
	r := w.approve(w.ask(w.call(`{}`)), policy.Single)
	if _, ok, err := other.Claim(ctx, r, callOf(r)); err != nil || !ok {
		t.Fatalf("claimed %v, error %v", ok, err)
	}
	w.exec(`UPDATE approval_requests SET claimed_at = claimed_at - interval '1 hour' WHERE id = $1`, r.ID)
	w.reconcile()
	if w.get(r.ID).FinishedAt != nil {
		t.Error("ended while its process may be connecting anew")
	}
}

// The reconciling process knows that it lives, whatever its connection does.
func TestAProcessDoesNotEndItsOwnCalls(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{}`)), policy.Single)
	if !w.claims(r) {
		t.Fatal("not claimed")
	}
	w.reconcile()
	if w.get(r.ID).FinishedAt != nil {
		t.Error("the call was ended")
	}
}

func TestStaleCardsAreUpdatedOnce(t *testing.T) {
	w := newWorld(t)
	stale, shown, busy, askedAgain := w.ask(w.call(`{"n":1}`)), w.ask(w.call(`{"n":2}`)), w.ask(w.call(`{"n":3}`)), w.ask(w.call(`{"n":4}`))
	w.exec(`UPDATE card_deliveries SET state = 'sent', shown_version = 1`)
	for _, r := range []approvals.Request{stale, shown} {
		w.approve(r, policy.Single)
	}
	w.ask(w.call(`{"n":4}`, inSession("s2")))
	w.exec(`UPDATE card_deliveries SET shown_version = 2 WHERE request_id = $1`, shown.ID)
	w.exec(`DELETE FROM river.river_job`)
	w.approve(busy, policy.Single)
	w.reconcile()
	w.reconcile()
	queued := w.column(`SELECT d.request_id || ' ' || (j.args ->> 'version') || ' ' || j.queue
		FROM river.river_job j JOIN card_deliveries d ON d.id = j.args ->> 'deliveryId'
		WHERE j.kind = 'approval_update_card' ORDER BY 1`)
	if diff := cmp.Diff([]string{stale.ID + " 2 cards", busy.ID + " 2 cards", askedAgain.ID + " 2 cards"}, queued); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
}

func TestACardWhoseJobIsGoneIsSentOnce(t *testing.T) {
	w := newWorld(t)
	gone, discarded, busy, closed := w.ask(w.call(`{"n":1}`)), w.ask(w.call(`{"n":2}`)), w.ask(w.call(`{"n":3}`)), w.ask(w.call(`{"n":4}`))
	w.reject(closed)
	about := ` WHERE kind = 'approval_deliver' AND args ->> 'deliveryId' = (SELECT id FROM card_deliveries WHERE request_id = $1)`
	w.exec(`DELETE FROM river.river_job`+about, gone.ID)
	w.exec(`DELETE FROM river.river_job`+about, closed.ID)
	w.exec(`UPDATE river.river_job SET state = 'discarded', finalized_at = now()`+about, discarded.ID)
	w.reconcile()
	w.reconcile()
	for _, c := range []struct {
		r    approvals.Request
		want int
	}{{gone, 1}, {discarded, 1}, {busy, 1}, {closed, 0}} {
		if n := w.count(`SELECT count(*) FROM river.river_job`+about+` AND state = 'available'`, c.r.ID); n != c.want {
			t.Errorf("request %d: %d jobs send its card, want %d", c.r.ShortID, n, c.want)
		}
	}
}

func TestTheExpiryJob(t *testing.T) {
	w := newWorld(t)
	worker := &approvals.ExpireWorker{Service: w.svc}
	work := func(id string) error {
		return worker.Work(ctx, &river.Job[approvals.ExpireArgs]{Args: approvals.ExpireArgs{RequestID: id}})
	}
	overdue, decided := w.ask(w.call(`{"n":1}`)), w.reject(w.ask(w.call(`{"n":2}`)))
	w.overdue(overdue)
	w.overdue(decided)
	for _, id := range []string{overdue.ID, overdue.ID, decided.ID, "gone with its agent"} {
		w.ok(work(id))
	}
	if a, b := w.get(overdue.ID).Status, w.get(decided.ID).Status; a != approvals.Expired || b != approvals.Rejected {
		t.Errorf("overdue %s, decided %s", a, b)
	}
}

// A new owner sees what waits, and nobody gets a second card.
func TestDeliverOpenReachesNewOwnersOnce(t *testing.T) {
	w := newWorld(t)
	open := w.ask(w.call(`{"n":1}`))
	w.reject(w.ask(w.call(`{"n":2}`)))
	w.person("new", "main", policy.Owner)
	for range 2 {
		tx, err := w.pool.Begin(ctx)
		w.ok(err)
		w.ok(w.svc.DeliverOpen(ctx, tx, "main"))
		w.ok(tx.Commit(ctx))
	}
	cards := w.column(`SELECT identity FROM card_deliveries WHERE request_id = $1 ORDER BY 1`, open.ID)
	if diff := cmp.Diff([]string{"new", "olga"}, cards); diff != "" {
		t.Errorf("cards (-want +got):\n%s", diff)
	}
	if n := w.count(`SELECT count(*) FROM card_deliveries WHERE identity = 'new'`); n != 1 {
		t.Errorf("%d cards for the new owner", n)
	}
	const jobs = `SELECT count(*) FROM river.river_job WHERE kind = 'approval_deliver'`
	if n := w.count(jobs); n != 3 {
		t.Errorf("%d deliver jobs, want 3", n)
	}
	// A card that was not sent because its recipient might not decide then.
	w.exec(`UPDATE card_deliveries SET state = CASE identity WHEN 'new' THEN 'skipped' ELSE 'sent' END`)
	for range 2 {
		tx, err := w.pool.Begin(ctx)
		w.ok(err)
		w.ok(w.svc.DeliverOpen(ctx, tx, "main"))
		w.ok(tx.Commit(ctx))
	}
	if queued := w.column(`SELECT identity FROM card_deliveries WHERE state = 'queued'`); w.count(jobs) != 4 || len(queued) != 1 || queued[0] != "new" {
		t.Errorf("%d deliver jobs, queued %v", w.count(jobs), queued)
	}
}

// TestIDsFollowTime: what was made before a time and after it is told by the id.
func TestIDsFollowTime(t *testing.T) {
	w := newWorld(t)
	before := time.Now()
	id := w.ask(w.call(`{}`)).ID
	after := time.Now().Add(time.Millisecond)
	if low, high := approvals.IDAt(before), approvals.IDAt(after); low >= id || id >= high {
		t.Errorf("%s is not between %s and %s", id, low, high)
	}
	if old := approvals.IDAt(before.Add(-48 * time.Hour)); old >= approvals.IDAt(before) {
		t.Errorf("%s of two days ago is not below that of now", old)
	}
}

// TestProcessesRepairAtOnce: each repair happens once, whoever is first, and tells
// once of it.
func TestProcessesRepairAtOnce(t *testing.T) {
	w := newWorld(t)
	una, ulf := w.person("una", "main", policy.User), w.person("ulf", "main", policy.User)
	m := w.merge(una, ulf)
	var ended, ran, parted []string
	for n := range 4 {
		args := fmt.Sprintf(`{"n":%d}`, n)
		late := w.ask(w.call(args))
		ended = append(ended, late.ID, w.ask(w.call(args, inSession("s2"))).ID)
		w.overdue(late)
		orphan := w.approve(w.ask(w.call(`{"orphan":true,`+args[1:])), policy.Single)
		w.exec(`UPDATE approval_grants SET uses_left = 0 WHERE request_id = $1`, orphan.ID)
		w.exec(`UPDATE approval_requests SET claimed_at = now(), claimed_by = 1 WHERE id = $1`, orphan.ID)
		ran = append(ran, orphan.ID)
		w.ask(w.call(args, by(una)))
		parted = append(parted, w.ask(w.call(args, by(ulf))).ID)
	}
	w.part(m)
	w.exec(`DELETE FROM river.river_job`)
	var all sync.WaitGroup
	for range 4 {
		_, svc := w.process()
		svc.Impatient()
		all.Go(func() {
			for range 2 {
				if err := (&approvals.ReconcileWorker{Service: svc}).Work(ctx, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for event, ids := range map[string][]string{
		"approval_resolved expired": ended, "approval_resolved cancelled": parted, "approval_executed outcome_unknown": ran,
	} {
		for _, id := range ids {
			n := w.count(`
				SELECT count(*)
				FROM session_events
				WHERE payload ->> 'requestId' = $1
				  AND concat_ws(' ', type, payload ->> 'decision', payload ->> 'outcome') = $2`, id, event)
			if n != 1 {
				t.Errorf("%s is told %d times", event, n)
			}
		}
	}
	if n := w.count(`
		SELECT count(*)
		FROM (SELECT FROM river.river_job WHERE kind = 'approval_deliver' GROUP BY args HAVING count(*) > 1) twice`); n != 0 {
		t.Errorf("%d cards are sent twice", n)
	}
}
