package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
)

// delivery is one card at one recipient.
type delivery struct {
	ID        string
	RequestID string
	Channel   string
	Identity  string
	UserID    string
	ButtonID  []byte
	State     string
	Chat      string
	Message   string
	ShownHash string
	// DigestID is the digest that lists it, in the state DigestState; empty for
	// none.
	DigestID, DigestState string
	// ShownAll tells that its recipient has been brought all arguments.
	ShownAll bool
	// View is what the card shows of approvals for good.
	View string
	// Zone is the time zone that its recipient has named, empty for none.
	Zone string
}

func (d delivery) address() identity.Address {
	return identity.Address{Channel: d.Channel, Identity: d.Identity}
}

func (d delivery) ref() MessageRef { return MessageRef{Chat: d.Chat, Message: d.Message} }

// waitsInDigest tells whether the digest it is in has not been sent yet.
func (d delivery) waitsInDigest() bool {
	return d.DigestState == digestCollecting || d.DigestState == digestClosed
}

// isDue tells whether the card is to be sent: one that waits, but not for its
// digest, or one that a digest shows and somebody wants to see by itself.
func (d delivery) isDue() bool {
	if d.DigestID == "" || d.waitsInDigest() {
		return d.DigestID == "" && d.State == stateQueued
	}
	return d.State == stateQueued || d.State == stateSent && d.Message == ""
}

// States of a delivery that the bot sets.
const (
	stateQueued      = "queued"
	stateSent        = "sent"
	stateUnreachable = "unreachable"
	stateSkipped     = "skipped"
)

// readDelivery gives a card and the request it is of, as they are now. ok is
// false when the request has been deleted with its agent.
func readDelivery(ctx context.Context, q db.Queryer, id string) (d delivery, r approvals.Request, ok bool, err error) {
	rows, err := q.Query(ctx, `
		SELECT d.id, d.request_id, d.channel, d.identity, COALESCE(u.merged_into, d.user_id), d.button_id, d.state, d.chat, d.message, d.shown_hash,
		       COALESCE(g.id, ''), COALESCE(g.state, ''), d.shown_all_at IS NOT NULL, d.view, COALESCE(t.zone, '')
		FROM card_deliveries d
		LEFT JOIN card_digests g ON g.id = d.digest_id
		LEFT JOIN users u ON u.id = d.user_id
		LEFT JOIN quiet_times t ON t.user_id = COALESCE(u.merged_into, d.user_id)
		WHERE d.id = $1`, id)
	if err != nil {
		return d, r, false, fmt.Errorf("read delivery: %w", err)
	}
	d, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[delivery])
	if errors.Is(err, pgx.ErrNoRows) {
		return d, r, false, nil
	}
	if err != nil {
		return d, r, false, fmt.Errorf("read delivery: %w", err)
	}
	r, err = approvals.Lookup(ctx, q, d.RequestID)
	if err == nil && r.Settings.Needed() > 1 {
		r.Votes, err = approvals.Votes(ctx, q, r.ID)
	}
	if err == nil && r.Status == approvals.Approved {
		r.Revoked, err = approvals.RevocationOf(ctx, q, r.ID)
	}
	return d, r, err == nil, err
}

// render makes the card of a delivery, and the hash by which a later look
// knows that it has not changed: the time that passes changes nothing.
func (b *Bot) render(ch Channel, d delivery, r approvals.Request) (card Card, hash string) {
	s := b.surface(ch, d, r, ch.Limits())
	card = Render(r, s)
	s.Clock = Clock{}
	return card, hashOf(Render(r, s))
}

func hashOf(card Card) string {
	text, err := json.Marshal(card)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// surface is what the card of a delivery is rendered for.
func (b *Bot) surface(ch Channel, d delivery, r approvals.Request, limits Limits) Surface {
	_, files := ch.(FileSender)
	_, asks := ch.(Asker)
	var holds func(Card) bool
	if reviewer, ok := ch.(Reviewer); ok {
		holds = reviewer.Holds
	}
	return Surface{
		Holds: holds, Shows: showsOf(ch), ShownAll: d.ShownAll, View: d.View, Clock: b.clock(ch, d.Zone), Limits: limits, Files: files, Asks: asks, User: d.UserID,
		Token: func(a approvals.Action) string {
			return approvals.ButtonToken(b.Keeper, d.ButtonID, r, d.Channel, d.Identity, a)
		},
	}
}

// showsOf is the channel's own measure of messages, nil where it has none.
func showsOf(ch Channel) func(Card) bool {
	if shower, ok := ch.(Shower); ok {
		return shower.Shows
	}
	return nil
}

// patience bounds the work on one message, with the channel's own pacing; it
// stays below the time after which River takes a job for stuck.
const patience = 90 * time.Second

// age is how long after its making a job was taken up, by the database's clock.
func age(job *rivertype.JobRow) time.Duration { return job.AttemptedAt.Sub(job.CreatedAt) }

// retryAt is when a job that failed comes again: after a second, then twice as
// long each time, at most a minute.
func retryAt(attempt int) time.Time {
	return time.Now().Add(min(time.Second<<min(max(attempt-1, 0), 6), time.Minute))
}

// again is what a failed job returns: a rate limit is obeyed and is no failed
// attempt, and a job that would be discarded is kept.
func again[T river.JobArgs](job *river.Job[T], err error) error {
	var limited *RetryError
	switch {
	case errors.As(err, &limited):
		return river.JobSnooze(max(limited.After, 0))
	case job.Attempt >= job.MaxAttempts:
		return river.JobSnooze(time.Minute)
	}
	return err
}
