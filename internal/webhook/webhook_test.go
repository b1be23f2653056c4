package webhook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/internal/db"
	"holm/internal/session"
	"holm/internal/webhook"
)

func TestAnAddressIsToldOfItsEventsAlone(t *testing.T) {
	w := newWorld(t)
	w.append("main", session.ApprovalRequested, "before the webhook")
	mine, theirs := newAddress(t), newAddress(t)
	_, secret := w.add("main", mine.URL, session.ApprovalResolved)
	_, otherSecret := w.add("other", theirs.URL)
	w.follow()
	w.work()

	w.append("main", session.ApprovalRequested, "another type")
	id := w.append("main", session.ApprovalResolved, map[string]any{"decision": "approved", "big": json.Number("90071992547409931")})
	w.append("other", session.ApprovalExecuted, "theirs")

	d := mine.next(t).verified(t, secret)
	var m webhook.Message
	if err := json.Unmarshal(d.body, &m); err != nil {
		t.Fatal(err)
	}
	if time.Since(m.Timestamp) > patience {
		t.Errorf("the event is of %s", m.Timestamp)
	}
	m.Timestamp = time.Time{}
	want := webhook.Message{
		Type: session.ApprovalResolved, EventID: id, AgentID: "main", SessionID: "main",
		Data: json.RawMessage(`{"big":90071992547409931,"decision":"approved"}`),
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := theirs.next(t).verified(t, otherSecret); !strings.Contains(string(d.body), `"theirs"`) {
		t.Errorf("the other agent's address got %s", d.body)
	}
	if len(mine.got)+len(theirs.got) != 0 {
		t.Error("an address was told too much")
	}
}

// Three processes follow, one of them from the middle on.
func TestEachEventIsQueuedOnce(t *testing.T) {
	const n = 600 // more than one transaction takes
	w := newWorld(t)
	w.add("main", "http://127.0.0.1:1/")
	w.follow()
	w.follow()
	for i := range n {
		if i == n/2 {
			w.follow()
		}
		w.append("main", session.ApprovalRequested, i)
	}
	var queued, different int
	for deadline := time.Now().Add(patience); queued < n && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		err := w.pool.QueryRow(t.Context(), `
			SELECT count(*), count(DISTINCT args->>'event_id')
			FROM river.river_job
			WHERE kind = 'webhook_deliver'`).Scan(&queued, &different)
		if err != nil {
			t.Fatal(err)
		}
	}
	if queued != n || different != n {
		t.Errorf("%d deliveries of %d events, want %d of each", queued, different, n)
	}
}

func TestAFailedDeliveryIsRepeatedUnderItsID(t *testing.T) {
	w := newWorld(t)
	a := newAddress(t, 500, 302)
	_, secret := w.add("main", a.URL+"/hook?token=hidden")
	event := w.append("main", session.ApprovalRequested, "x")
	worker := webhook.NewDeliverWorker(w.pool, w.keeper)
	job := &river.Job[webhook.DeliverArgs]{
		JobRow: &rivertype.JobRow{Attempt: 1}, Args: webhook.DeliverArgs{WebhookID: w.hook("main").ID, EventID: event},
	}

	for _, status := range []string{"500", "302"} {
		err := worker.Work(t.Context(), job)
		if err == nil || !strings.Contains(err.Error(), status) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("answered %s: error %v", status, err)
		}
		if h := w.hook("main"); h.FailedAt == nil || !strings.Contains(h.LastError, status) || h.DisabledAt != nil {
			t.Errorf("answered %s: %+v", status, h)
		}
	}
	if err := worker.Work(t.Context(), job); err != nil {
		t.Error(err)
	}
	if h := w.hook("main"); h.DeliveredAt == nil || h.LastError != "" {
		t.Errorf("after a success: %+v", h)
	}
	first := a.next(t).verified(t, secret)
	for range 2 {
		if d := a.next(t).verified(t, secret); d.header.Get("webhook-id") != first.header.Get("webhook-id") {
			t.Errorf("repeated as %q after %q", d.header.Get("webhook-id"), first.header.Get("webhook-id"))
		}
	}
}

// Whatever an address says beside its status, the failure is on record.
func TestAHostileStatusIsOnRecord(t *testing.T) {
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 500 a\x00b\xff"+strings.Repeat("c", 100_000)+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	}()
	w.add("main", "http://"+listener.Addr().String())
	event := w.append("main", session.ApprovalRequested, "x")
	worker := webhook.NewDeliverWorker(w.pool, w.keeper)
	err = worker.Work(t.Context(), &river.Job[webhook.DeliverArgs]{
		JobRow: &rivertype.JobRow{Attempt: 1}, Args: webhook.DeliverArgs{WebhookID: w.hook("main").ID, EventID: event},
	})
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("error %.100v", err)
	}
	if h := w.hook("main"); h.FailedAt == nil || !strings.HasSuffix(h.LastError, "answered 500 Internal Server Error") {
		t.Errorf("%.200v", h)
	}
}

func TestPausesGrowToAnHour(t *testing.T) {
	worker := &webhook.DeliverWorker{}
	for attempt, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 10: 2560 * time.Second, 11: time.Hour, 19: time.Hour} {
		got := time.Until(worker.NextRetry(&river.Job[webhook.DeliverArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}}))
		if got > want || got < want-patience {
			t.Errorf("after attempt %d: %s, want %s", attempt, got, want)
		}
	}
}

func TestGoneDisables(t *testing.T) {
	w := newWorld(t)
	a := newAddress(t, 410)
	hook, _ := w.add("main", a.URL)
	event := w.append("main", session.ApprovalRequested, "x")
	worker := webhook.NewDeliverWorker(w.pool, w.keeper)
	job := &river.Job[webhook.DeliverArgs]{JobRow: &rivertype.JobRow{Attempt: 1}, Args: webhook.DeliverArgs{WebhookID: hook.ID, EventID: event}}
	for range 2 {
		if err := worker.Work(t.Context(), job); err != nil {
			t.Errorf("%v: it would be tried again", err)
		}
	}
	if h := w.hook("main"); h.DisabledAt == nil || !strings.Contains(h.LastError, "410") {
		t.Errorf("%+v", h)
	}
	if len(a.got) != 1 {
		t.Errorf("%d deliveries, want the first", len(a.got))
	}
	var records int
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_queue WHERE kind = 'webhook_disabled'`).Scan(&records); err != nil || records != 1 {
		t.Errorf("%d records (%v), want 1", records, err)
	}
}

func TestWhatIsRemovedIsToldNothing(t *testing.T) {
	w := newWorld(t)
	a := newAddress(t)
	hook, _ := w.add("main", a.URL)
	event := w.append("main", session.ApprovalRequested, "x")
	remove := func(agent string) error {
		return db.InTx(t.Context(), w.pool, func(tx pgx.Tx) error {
			return webhook.Remove(context.Background(), tx, agent, hook.ID, "test")
		})
	}
	if err := remove("other"); err == nil {
		t.Error("a foreign agent removed the webhook")
	}
	if err := remove("main"); err != nil {
		t.Fatal(err)
	}
	worker := webhook.NewDeliverWorker(w.pool, w.keeper)
	err := worker.Work(t.Context(), &river.Job[webhook.DeliverArgs]{
		JobRow: &rivertype.JobRow{Attempt: 1}, Args: webhook.DeliverArgs{WebhookID: hook.ID, EventID: event}})
	if err != nil || len(a.got) != 0 {
		t.Errorf("%v, %d deliveries", err, len(a.got))
	}
}
