package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/caught"
	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/identity"
)

// What platforms sent is handled in two River queues. A tap waits in InboxQueue for
// no card that is on its way, however slow a platform takes those, and for nothing
// of what others type: that is TalkQueue's, whose workers wait for the chats that
// their replies go to. One person's events wait for each other, see arrival.go.
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

const (
	// inboxAttempts with the pauses of inboxWorker make about half a minute: a
	// person who tapped waits no longer before tapping again, and no longer for
	// what they did next.
	inboxAttempts = 7
	// maxAttempts are more than River ever makes: a job that it discarded would
	// hold its person back for ever.
	maxAttempts = 10_000
)

// Store implements Inbox: the payloads and the jobs that handle them commit
// together. However many come at once, they cost a few round trips.
func (b *Bot) Store(ctx context.Context, namespace string, events ...Incoming) error {
	a := arriving{queues: map[string]string{}}
	for _, e := range events {
		actor, queue := b.about(namespace, e.Payload)
		a.ids, a.actors, a.queues[e.ID] = append(a.ids, e.ID), append(a.actors, actor), queue
		// PostgreSQL refuses text that is no UTF-8; refused for ever, such an event
		// would block all that come after it.
		a.payloads = append(a.payloads, string(bytes.ToValidUTF8(e.Payload, []byte("\uFFFD"))))
	}
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		begin, err := arrive(ctx, tx, namespace, a)
		if err != nil {
			return err
		}
		var jobs []river.InsertManyParams
		for _, id := range begin {
			jobs = append(jobs, eventJob(inboxArgs{namespace, id}, a.queues[id]))
		}
		return b.queueEvents(ctx, tx, jobs...)
	})
	if err != nil {
		return fmt.Errorf("store events of %s: %w", namespace, err)
	}
	crashpoint.Reach(crashpoint.StoredUpdate)
	return nil
}

// about tells who acted in an event, nil where that cannot be read, and which
// queue handles it: InboxQueue what somebody does with a card or a form.
func (b *Bot) about(namespace string, payload json.RawMessage) (actor *string, queue string) {
	c := b.opened(namespace)
	if c == nil {
		return nil, TalkQueue
	}
	var ev Event
	var ok bool
	var err error
	// After a panic nothing is known: the event is stored, and given up when it is
	// handled.
	caught.Run(b.Log, "chat event", func() { ev, ok, err = c.Decode(payload) })
	// PostgreSQL takes no zero byte in a text.
	if ev.Identity != "" && utf8.ValidString(ev.Identity) && !strings.Contains(ev.Identity, "\x00") {
		actor = &ev.Identity
	}
	if err == nil && ok && (ev.Kind == Tap || ev.Kind == Reply || ev.Kind == Closed) {
		return actor, InboxQueue
	}
	return actor, TalkQueue
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
	return time.Now().Add(time.Second << min(max(job.Attempt-1, 0), inboxAttempts) / 2)
}

// Timeout implements river.Worker.
func (w *inboxWorker) Timeout(*river.Job[inboxArgs]) time.Duration { return patience }

// Work handles the event, unless that was done before, and lets the next one of
// its person begin. After the last attempt the event is given up, so that a
// poisonous one blocks nothing; one whose last attempt did not come to its end is
// not tried again.
func (w *inboxWorker) Work(ctx context.Context, job *river.Job[inboxArgs]) error {
	payload, ok, err := w.bot.unhandled(ctx, job.Args)
	if err != nil {
		return err
	}
	last := job.Attempt >= inboxAttempts
	if ok {
		crashpoint.Reach(crashpoint.HandlingUpdate)
		err = w.handle(ctx, job, payload, last)
	}
	if later := (*river.JobSnoozeError)(nil); err != nil && (retried(err, last) || errors.As(err, &later)) {
		return err
	}
	if err != nil {
		w.bot.Log.Error("an event could not be handled and is given up",
			"channel", job.Args.Channel, "event_id", job.Args.EventID, "error", err)
	}
	return w.bot.endTurn(ctx, job.Args)
}

func (w *inboxWorker) handle(ctx context.Context, job *river.Job[inboxArgs], payload json.RawMessage, last bool) (err error) {
	if job.Attempt > inboxAttempts {
		return errors.New("the last attempt did not come to its end")
	}
	defer caught.Err(w.bot.Log, "chat event", &err)
	return w.bot.handlePayload(ctx, job.Args, payload, last)
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
