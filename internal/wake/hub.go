// Package wake tells waiters that rows have changed: at once within the
// process, and through one LISTEN/NOTIFY connection across processes. It
// carries keys, never data: whoever wakes reads the rows, which are the truth.
// A lost notice costs time, never correctness; waiters poll slowly besides.
package wake

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/caught"
)

const (
	channel = "holm_wake"
	// tooLong is the first length that PostgreSQL does not take in a NOTIFY;
	// maxPayload stays below it.
	tooLong    = 8000
	maxPayload = 7500
	// aliveClass is the first half of the advisory lock that a process holds
	// for as long as its LISTEN connection lives.
	aliveClass = 0x686f6c6d // "holm"
)

// Hub is one process's end. Make it with New and run it with Run.
type Hub struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	id   int32

	mu      sync.Mutex
	waiters map[string]map[*Waiter]struct{}
	pending map[string]struct{}
	told    map[notice]struct{}
	kick    chan struct{}
}

// notice is what a NOTIFY carries.
type notice struct{ channel, payload string }

// New makes a Hub on pool. It works within the process before Run is called.
func New(pool *pgxpool.Pool, log *slog.Logger) *Hub {
	return &Hub{
		pool:    pool,
		log:     log,
		id:      rand.Int32(),
		waiters: map[string]map[*Waiter]struct{}{},
		pending: map[string]struct{}{},
		told:    map[notice]struct{}{},
		kick:    make(chan struct{}, 1),
	}
}

// Waiter receives on C after a key it waits for was published. Several
// publications may arrive as one.
type Waiter struct {
	C    <-chan struct{}
	c    chan struct{}
	hub  *Hub
	keys []string
}

// Wait registers for keys. Register first, read the rows after: then no change
// is missed. Close it when done.
func (h *Hub) Wait(keys ...string) *Waiter {
	c := make(chan struct{}, 1)
	w := &Waiter{C: c, c: c, hub: h, keys: keys}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if h.waiters[key] == nil {
			h.waiters[key] = map[*Waiter]struct{}{}
		}
		h.waiters[key][w] = struct{}{}
	}
	return w
}

// Close ends the registration.
func (w *Waiter) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, key := range w.keys {
		delete(w.hub.waiters[key], w)
		if len(w.hub.waiters[key]) == 0 {
			delete(w.hub.waiters, key)
		}
	}
}

// Publish wakes the waiters of keys here and, soon after, in the other
// processes. Call it after the commit, never inside a transaction.
func (h *Hub) Publish(keys ...string) {
	h.WakeLocal(keys...)
	h.mu.Lock()
	for _, key := range keys {
		h.pending[key] = struct{}{}
	}
	h.mu.Unlock()
	h.turn()
}

// Tell sends a NOTIFY that others than Hubs listen for, as Publish does: after the
// commit, with what else there is to send.
func (h *Hub) Tell(channel, payload string) {
	h.mu.Lock()
	h.told[notice{channel, payload}] = struct{}{}
	h.mu.Unlock()
	h.turn()
}

func (h *Hub) turn() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// WakeLocal wakes the waiters of this process alone.
func (h *Hub) WakeLocal(keys ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		for w := range h.waiters[key] {
			w.ring()
		}
	}
}

func (h *Hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, set := range h.waiters {
		for w := range set {
			w.ring()
		}
	}
}

func (w *Waiter) ring() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// Process is this process's id, by which others can ask whether it lives.
func (h *Hub) Process() int64 { return int64(h.id) }

// Alive tells whether the process that had this id still holds its connection
// to the database. Those who ask at once are not in each other's way.
func Alive(ctx context.Context, tx pgx.Tx, process int64) (bool, error) {
	var free bool
	err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock_shared($1, $2)`, aliveClass, int32(process)).Scan(&free)
	return !free, err
}

// Run listens and notifies until ctx ends, reconnecting for ever.
func (h *Hub) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	caught.Keep(&wg, h.log, "notifier", func() { h.notify(ctx) })
	for delay := 100 * time.Millisecond; ctx.Err() == nil; delay = min(2*delay, time.Second) {
		began := time.Now()
		err := h.listen(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > time.Minute {
			delay = 100 * time.Millisecond
		}
		h.log.Warn("listening for changes was interrupted", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
	wg.Wait()
	return nil
}

func (h *Hub) listen(ctx context.Context) error {
	pooled, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1, $2)`, aliveClass, h.id); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	h.wakeAll()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		sender, keys, _ := strings.Cut(n.Payload, "\n")
		if sender != strconv.Itoa(int(h.id)) {
			h.WakeLocal(strings.Split(keys, "\n")...)
		}
	}
}

// notify sends all that was published and told since its last turn in one
// statement and as few notices as it fits, so that commits do not queue behind the
// lock of a NOTIFY.
func (h *Hub) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.kick:
		}
		channels, payloads := h.takeNotices()
		if len(channels) == 0 {
			continue // all was sent at the turn before
		}
		_, err := h.pool.Exec(ctx, `
			SELECT pg_notify(n.channel, n.payload)
			FROM unnest($1::text[], $2::text[]) n (channel, payload)`, channels, payloads)
		if err != nil && !errors.Is(err, context.Canceled) {
			h.log.Warn("other processes could not be notified; they will poll", "error", err)
		}
	}
}

func (h *Hub) takeNotices() (channels, payloads []string) {
	h.mu.Lock()
	keys, told := h.pending, h.told
	h.pending, h.told = map[string]struct{}{}, map[notice]struct{}{}
	h.mu.Unlock()

	add := func(to, payload string) { channels, payloads = append(channels, to), append(payloads, payload) }
	for n := range told {
		add(n.channel, n.payload)
	}
	head := strconv.Itoa(int(h.id))
	payload := head
	for key := range keys {
		if len(head)+len(key)+1 >= tooLong { // one that PostgreSQL refuses would cost the others theirs
			h.log.Warn("a key is too long for other processes to be told; they will poll", "bytes", len(key))
			continue
		}
		if payload != head && len(payload)+len(key)+1 > maxPayload {
			add(channel, payload)
			payload = head
		}
		payload += "\n" + key
	}
	if payload != head {
		add(channel, payload)
	}
	return channels, payloads
}
