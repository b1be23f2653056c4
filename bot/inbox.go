package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/caught"
	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/identity"
)

// What platforms sent is handled in two River queues. A tap waits in InboxQueue for
// no card that is on its way, however slow a platform takes those, and for nothing
// of what anybody types: that is TalkQueue's, whose workers wait for the chats that
// their replies go to.
const (
	InboxQueue = "inbox"
	TalkQueue  = "talk"
)

// inboxArgs handles one stored event.
type inboxArgs struct {
	Channel string `json:"channel"`
	EventID string `json:"eventId"`
}

// Kind names the job in River's table.
func (inboxArgs) Kind() string { return "inbox_handle" }

// inboxAttempts with the pauses of inboxWorker make about half a minute: a
// person who tapped waits no longer before tapping again.
const inboxAttempts = 7

// Store implements Inbox: the payloads and the jobs that handle them commit
// together. However many come at once, they cost a few round trips.
func (b *Bot) Store(ctx context.Context, namespace string, events ...Incoming) error {
	ids, payloads, queues := make([]string, len(events)), make([]string, len(events)), map[string]string{}
	for i, e := range events {
		// PostgreSQL refuses text that is no UTF-8; refused for ever, such an event
		// would block all that come after it.
		ids[i], payloads[i] = e.ID, string(bytes.ToValidUTF8(e.Payload, []byte("\uFFFD")))
		queues[e.ID] = b.queueOf(namespace, e.Payload)
	}
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			INSERT INTO inbox (channel, event_id, payload)
			SELECT $1, e.id, e.payload::json
			FROM unnest($2::text[], $3::text[]) e (id, payload)
			ON CONFLICT (channel, event_id) DO NOTHING
			RETURNING event_id`, namespace, ids, payloads)
		if err != nil {
			return err
		}
		jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
			args := inboxArgs{Channel: namespace}
			err := row.Scan(&args.EventID)
			return river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: queues[args.EventID], MaxAttempts: inboxAttempts}}, err
		})
		if err != nil || len(jobs) == 0 {
			return err
		}
		_, err = b.Jobs.InsertManyTx(ctx, tx, jobs)
		return err
	})
	if err != nil {
		return fmt.Errorf("store events of %s: %w", namespace, err)
	}
	crashpoint.Reach(crashpoint.StoredUpdate)
	return nil
}

// queueOf is InboxQueue for what somebody does with a card or a form.
func (b *Bot) queueOf(namespace string, payload json.RawMessage) string {
	if c := b.opened(namespace); c != nil {
		ev, ok, err := c.Decode(payload)
		if err == nil && ok && (ev.Kind == Tap || ev.Kind == Reply || ev.Kind == Closed) {
			return InboxQueue
		}
	}
	return TalkQueue
}

// LastID implements Inbox.
func (b *Bot) LastID(ctx context.Context, namespace string) (int64, error) {
	var id int64
	err := b.Pool.QueryRow(ctx, `
		SELECT COALESCE(max(event_id::bigint), 0)
		FROM inbox
		WHERE channel = $1
		  AND event_id ~ '^[0-9]{1,18}$'`, namespace).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("read last event of %s: %w", namespace, err)
	}
	return id, nil
}

// inboxWorker works inboxArgs. Handling an event twice does no harm.
type inboxWorker struct {
	river.WorkerDefaults[inboxArgs]
	bot *Bot
}

// NextRetry pauses half a second, then twice as long each time.
func (w *inboxWorker) NextRetry(job *river.Job[inboxArgs]) time.Time {
	return time.Now().Add(time.Second << max(job.Attempt-1, 0) / 2)
}

// Timeout implements river.Worker.
func (w *inboxWorker) Timeout(*river.Job[inboxArgs]) time.Duration { return patience }

// Work handles the event, unless that was done before. After the last attempt
// the event is given up, so that a poisonous one blocks nothing.
func (w *inboxWorker) Work(ctx context.Context, job *river.Job[inboxArgs]) error {
	payload, ok, err := w.bot.unhandled(ctx, job.Args)
	if err != nil || !ok {
		return err
	}
	crashpoint.Reach(crashpoint.HandlingUpdate)
	last := job.Attempt >= job.MaxAttempts
	_, err = caught.Do(w.bot.Log, "chat event", func() (struct{}, error) {
		return struct{}{}, w.bot.handlePayload(ctx, job.Args, payload, last)
	})
	if err != nil {
		if later := (*river.JobSnoozeError)(nil); retried(err, last) || errors.As(err, &later) {
			return err
		}
		w.bot.Log.Error("an event could not be handled and is given up",
			"channel", job.Args.Channel, "event_id", job.Args.EventID, "error", err)
	}
	return w.bot.markHandled(ctx, job.Args)
}

func (b *Bot) unhandled(ctx context.Context, a inboxArgs) (payload json.RawMessage, ok bool, err error) {
	err = b.Pool.QueryRow(ctx, `
		SELECT payload
		FROM inbox
		WHERE channel = $1
		  AND event_id = $2
		  AND handled_at IS NULL`, a.Channel, a.EventID).Scan(&payload)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read event: %w", err)
	}
	return payload, true, nil
}

func (b *Bot) markHandled(ctx context.Context, a inboxArgs) error {
	_, err := b.Pool.Exec(ctx, `
		UPDATE inbox
		SET handled_at = now()
		WHERE channel = $1
		  AND event_id = $2`, a.Channel, a.EventID)
	if err != nil {
		return fmt.Errorf("mark event handled: %w", err)
	}
	return nil
}

// handlePayload decodes and handles one event; last tells that there will be
// no further attempt.
func (b *Bot) handlePayload(ctx context.Context, event inboxArgs, payload json.RawMessage, last bool) error {
	namespace := event.Channel
	c, err := b.connected(ctx, namespace)
	if err != nil {
		return err
	}
	if c == nil {
		return fmt.Errorf("channel %s is not connected", namespace)
	}
	ch := c.Channel
	ev, ok, err := ch.Decode(payload)
	if err != nil || !ok {
		return err
	}
	who := identity.Address{Channel: namespace, Identity: ev.Identity}
	if ev.Kind == Text {
		return b.talkers.bounded(who, func() error { return b.handleEvent(ctx, ch, who, ev, event, last) })
	}
	return b.handleEvent(ctx, ch, who, ev, event, last)
}

func (b *Bot) handleEvent(ctx context.Context, ch Channel, who identity.Address, ev Event, event inboxArgs, last bool) error {
	if namer, ok := ch.(Namer); ok && ev.Name == "" {
		ev.Name = namer.NameOf(ctx, ev.Identity)
	}
	if err := identity.LearnName(ctx, b.Pool, who, ev.Name); err != nil {
		return err
	}
	if err := b.noteRoute(ctx, who.Channel, ev); err != nil {
		return err
	}
	switch ev.Kind {
	case Left, Joined:
		return nil
	case Tap:
		return b.handleTap(ctx, ch, ev, last)
	case Opened:
		return b.openHome(ctx, ch, ev)
	case Text:
		return b.handleText(ctx, ch, ev, event, last)
	case Closed:
		return b.handleClosed(ctx, ch, ev)
	case Reply:
		return b.handleReply(ctx, ch, ev, last)
	}
	return fmt.Errorf("event of unknown kind %q", ev.Kind)
}
