package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"holm/bot"
)

// pollTime is the longest that Telegram holds a poll.
const pollTime = 50 * time.Second

// pauses between attempts, each doubling from the first to the longest.
type pauses struct {
	first, longest time.Duration
	// conflict is the longest pause after a conflict: an old poller's slot can
	// be held for some 50 s, so giving up or hammering before that is wrong.
	conflictFirst, conflictLongest time.Duration
	// hookCheck lies between two looks at the webhook.
	hookCheck time.Duration
}

var defaultPauses = pauses{
	first: time.Second, longest: 30 * time.Second,
	conflictFirst: 3 * time.Second, conflictLongest: 90 * time.Second,
	hookCheck: hookCheck,
}

// maxPolls a second keep us from spinning when a server answers polls at once
// with nothing, as a wrong proxy may.
const maxPolls rate.Limit = 20

func doubling(first, longest time.Duration) *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff() // jitter of one half
	b.InitialInterval, b.MaxInterval, b.Multiplier = first, longest, 2
	b.Reset()
	return b
}

// Run implements bot.Channel: it learns the bot's name and sets its menu; then it
// waits for its turn to poll and polls, or has Telegram call, until ctx ends. A
// token refused at the start is the one error
// it returns; all else is waited out and shown in Health. Nothing is confirmed
// that the inbox has not stored, and pending updates are never dropped.
func (c *Channel) Run(ctx context.Context, in bot.Inbox) error {
	defer c.http.CloseIdleConnections()
	r := &receiver{
		Channel: c, inbox: in, hold: pollTime, polls: rate.NewLimiter(maxPolls, int(maxPolls)),
		trouble:   doubling(c.pauses.first, c.pauses.longest),
		conflicts: doubling(c.pauses.conflictFirst, c.pauses.conflictLongest),
	}
	for ctx.Err() == nil {
		err := r.introduce(ctx)
		if errors.Is(err, bot.ErrSetup) {
			c.setFailing(err, false)
			return err
		}
		if err == nil && r.secret != "" {
			err = r.keepHook(ctx)
		} else if err == nil {
			err = r.pollLocked(ctx)
		}
		if ctx.Err() == nil {
			r.waitOut(ctx, err)
		}
	}
	return nil
}

// receiver is one Run.
type receiver struct {
	*Channel
	inbox  bot.Inbox
	offset int64 // of the next poll, 0 while unknown
	known  bool  // offset was read from the inbox or learnt
	hooked bool  // the webhook was set
	polled bool  // a poll was answered
	// hold is how long Telegram may hold the next poll: not at all after a
	// failure, so that a recovery shows at once and not after a quiet minute.
	hold      time.Duration
	polls     *rate.Limiter
	trouble   *backoff.ExponentialBackOff
	conflicts *backoff.ExponentialBackOff
}

// introduce learns the bot's name, which is also the proof of the token. A
// process that then waits for its turn to poll can send, and is healthy.
func (r *receiver) introduce(ctx context.Context) error {
	if r.name() != "" {
		return nil
	}
	if err := r.learnName(ctx); err != nil {
		return err
	}
	r.setMenu(ctx)
	r.setHealthy()
	return nil
}

// standby is how long the wait for the lock lasts before the last failure is
// taken for somebody else's business.
const standby = 5 * time.Second

// pollLocked polls while this process holds the lock. It returns at the first
// failure, with the lock released: another process may be better off.
func (r *receiver) pollLocked(ctx context.Context) error {
	if r.lock != nil {
		waiting := time.AfterFunc(standby, r.setHealthy)
		release, err := r.lock(ctx)
		waiting.Stop()
		if err != nil {
			return fmt.Errorf("wait for the turn to poll: %w", err)
		}
		defer release()
		r.known = false // another process may have stored meanwhile
	}
	for ctx.Err() == nil {
		if err := r.pollOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pollOnce asks for updates, which confirms the ones before, and stores what
// comes. A batch that could not be stored is asked for again.
func (r *receiver) pollOnce(ctx context.Context) error {
	if !r.known {
		last, err := r.inbox.LastID(ctx, namespace)
		if err != nil {
			return &storeError{err}
		}
		r.known, r.offset = true, 0
		if last > 0 {
			r.offset = last + 1
		}
	}
	if err := r.polls.Wait(ctx); err != nil {
		return err
	}
	batch, err := r.getUpdates(ctx, r.offset, r.hold)
	if isHooked(err) && !r.polled { // later it is a newer Holm, in the other mode
		return errors.Join(r.dropOwnHook(ctx), err)
	}
	if err != nil {
		return err
	}
	r.conflicts.Reset()
	r.polled = true
	if err := r.store(ctx, batch); err != nil {
		return &storeError{err}
	}
	r.setHealthy()
	r.trouble.Reset()
	r.hold = pollTime
	// The last id, not the highest: Telegram starts numbering anew, perhaps
	// lower, after a week without updates, and serves from the head of its
	// queue when asked for an offset beyond it.
	if n := len(batch); n > 0 {
		r.offset = batch[n-1].id + 1
	}
	return nil
}

func (r *receiver) store(ctx context.Context, batch []rawUpdate) error {
	if len(batch) == 0 {
		return nil
	}
	events := make([]bot.Incoming, len(batch))
	for i, u := range batch {
		events[i] = bot.Incoming{ID: strconv.FormatInt(u.id, 10), Payload: u.raw}
	}
	if err := r.inbox.Store(ctx, namespace, events...); err != nil {
		return err
	}
	r.setReceived(time.Now())
	return nil
}

// isHooked tells that Telegram refused a poll since it calls a webhook.
func isHooked(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.code == http.StatusConflict && strings.Contains(refused.text, "webhook is active")
}

// waitOut shows a failure and waits as long as it asks for.
func (r *receiver) waitOut(ctx context.Context, err error) {
	var busy *bot.RetryError
	var refused *refusal
	var unstored *storeError
	var pause time.Duration
	switch {
	case errors.As(err, &busy):
		pause = busy.After
	case errors.As(err, &refused) && refused.code == 409:
		pause = r.conflicts.NextBackOff()
	default:
		pause = r.trouble.NextBackOff()
	}
	r.hold = 0
	// Deaf is not connected, even when Telegram answers with a refusal.
	r.setFailing(err, errors.As(err, &unstored) || busy != nil)
	r.log.Warn("telegram reception interrupted", "error", r.redact(err), "pause", pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// storeError is a failure of the inbox, not of Telegram.
type storeError struct{ err error }

func (e *storeError) Error() string { return "store updates: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }
