package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
)

// Queue is worked apart from all others: a slow address holds up nobody but
// other addresses.
const Queue = "webhooks"

const (
	// timeout bounds one delivery.
	timeout = 15 * time.Second
	// maxAttempts, with the pauses of NextRetry, is about half a day.
	maxAttempts = 20
	firstPause  = 5 * time.Second
	longestWait = time.Hour
	// drained bounds what is read of an answer, so that its connection is kept.
	drained = 64 << 10
)

// DeliverArgs is one event for one webhook.
type DeliverArgs struct {
	WebhookID string `json:"webhook_id"`
	EventID   int64  `json:"event_id"`
}

// Kind names the job in River's table.
func (DeliverArgs) Kind() string { return "webhook_deliver" }

func deliverOpts() *river.InsertOpts {
	return &river.InsertOpts{Queue: Queue, MaxAttempts: maxAttempts}
}

// Message is the body of a delivery.
type Message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// EventID rises with each event of the installation: deliveries may come in
	// another order, and more than once.
	EventID   int64           `json:"eventId"`
	AgentID   string          `json:"agentId"`
	SessionID string          `json:"sessionId"`
	Data      json.RawMessage `json:"data"`
}

// DeliverWorker works DeliverArgs.
type DeliverWorker struct {
	river.WorkerDefaults[DeliverArgs]
	sender Sender
}

// NewDeliverWorker makes the worker.
func NewDeliverWorker(pool *pgxpool.Pool, keeper *secret.Keeper) *DeliverWorker {
	return &DeliverWorker{sender: NewSender(pool, keeper)}
}

// Timeout implements river.Worker.
func (w *DeliverWorker) Timeout(*river.Job[DeliverArgs]) time.Duration { return 2 * timeout }

// NextRetry implements river.Worker: 5 s, doubling to an hour.
func (w *DeliverWorker) NextRetry(job *river.Job[DeliverArgs]) time.Time {
	return time.Now().Add(min(firstPause<<min(job.Attempt-1, 10), longestWait))
}

// Work tells the address of one event. A webhook that was removed or disabled
// is told nothing.
func (w *DeliverWorker) Work(ctx context.Context, job *river.Job[DeliverArgs]) error {
	m, err := w.sender.message(ctx, job.Args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // deleted with its session
	}
	if err != nil {
		return err
	}
	err = w.sender.deliver(ctx, job.Args.WebhookID, strconv.FormatInt(m.EventID, 10), m)
	if errors.Is(err, errGone) {
		return nil // and the webhook is disabled
	}
	return err
}

// Sender posts messages.
type Sender struct {
	pool   *pgxpool.Pool
	keeper *secret.Keeper
	client *http.Client
}

// NewSender makes a Sender.
func NewSender(pool *pgxpool.Pool, keeper *secret.Keeper) Sender {
	return Sender{pool: pool, keeper: keeper, client: &http.Client{
		Timeout: timeout,
		// A redirect would carry the event to an address nobody registered.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Test sends a message of type "test" now, once, and gives what came of it: an
// Unavailable fault says how the address failed.
func (s Sender) Test(ctx context.Context, agentID, id string) error {
	hooks, err := List(ctx, s.pool, agentID)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if h.ID != id {
			continue
		}
		now := time.Now()
		m := Message{Type: "test", Timestamp: now.UTC(), AgentID: agentID, Data: json.RawMessage(`{}`)}
		if err := s.deliver(ctx, id, "test-"+strconv.FormatInt(now.UnixNano(), 10), m); err != nil {
			return &fault.Error{Kind: fault.Unavailable, Code: "webhook_failed", Message: err.Error()}
		}
		return nil
	}
	return fault.NotFoundf("agent %q has no webhook %q", agentID, id)
}

func (s Sender) message(ctx context.Context, a DeliverArgs) (m Message, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT type, created_at, id, agent_id, session_id, payload
		FROM session_events
		WHERE id = $1`, a.EventID).Scan(&m.Type, &m.Timestamp, &m.EventID, &m.AgentID, &m.SessionID, &m.Data)
	m.Timestamp = m.Timestamp.UTC()
	return m, err
}

// deliver posts one message and notes how the address did.
func (s Sender) deliver(ctx context.Context, webhookID, messageID string, m Message) error {
	var address string
	var sealed []byte
	err := s.pool.QueryRow(ctx, `
		SELECT url, secret
		FROM webhooks
		WHERE id = $1 AND disabled_at IS NULL`, webhookID).Scan(&address, &sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read webhook: %w", err)
	}
	key, err := s.keeper.Open(owner(webhookID), sealed)
	if err != nil {
		return err
	}
	failure := s.post(ctx, address, key, messageID, m)
	return errors.Join(failure, s.note(context.WithoutCancel(ctx), webhookID, m.AgentID, failure))
}

// errGone: the address asks to be told nothing more (Standard Webhooks, "410 Gone").
var errGone = errors.New("the webhook is disabled now")

// post sends m. Its error never holds the address's query, which may be a secret.
func (s Sender) post(ctx context.Context, address string, key []byte, messageID string, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Holm")
	if err := sign(req.Header, key, messageID, time.Now(), body); err != nil {
		return fmt.Errorf("sign event: %w", err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return fmt.Errorf("%s does not answer: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, drained))
	// In our words, not in those of the address: they are stored.
	said := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case code >= 200 && code <= 299:
		return nil
	case code == http.StatusGone:
		return fmt.Errorf("%s answered %s: %w", req.URL.Host, said, errGone)
	}
	return fmt.Errorf("%s answered %s", req.URL.Host, said)
}

// note keeps how the last delivery went. An address that is gone for good is
// told nothing more.
func (s Sender) note(ctx context.Context, webhookID, agentID string, failure error) error {
	if failure == nil {
		_, err := s.pool.Exec(ctx, `
			UPDATE webhooks
			SET delivered_at = now(),
			    last_error = ''
			WHERE id = $1`, webhookID)
		return err
	}
	return db.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		gone := errors.Is(failure, errGone)
		changed, err := tx.Exec(ctx, `
			UPDATE webhooks
			SET failed_at = now(),
			    last_error = $2,
			    disabled_at = CASE WHEN $3 THEN now() END
			WHERE id = $1 AND disabled_at IS NULL`, webhookID, failure.Error(), gone)
		if err != nil || !gone || changed.RowsAffected() == 0 {
			return err
		}
		return audit.Write(ctx, tx, audit.Record{
			Kind: "webhook_disabled", AgentID: agentID, Actor: "system",
			Data: map[string]any{"webhookId": webhookID, "why": "its address answered 410 Gone"},
		})
	})
}
