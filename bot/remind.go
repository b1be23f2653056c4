package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/stamp"
)

// remindWorker works approvals.RemindCardArgs: a message of its own below the
// card, since an edit rings nowhere.
type remindWorker struct {
	river.WorkerDefaults[approvals.RemindCardArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *remindWorker) Timeout(*river.Job[approvals.RemindCardArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *remindWorker) NextRetry(job *river.Job[approvals.RemindCardArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work sends the reminder while its request waits for the recipient. It is noted
// before it is sent: a crash between the two loses one, and never sends it twice.
func (w *remindWorker) Work(ctx context.Context, job *river.Job[approvals.RemindCardArgs]) error {
	b := w.bot
	d, r, ok, err := readDelivery(ctx, b.Pool, job.Args.DeliveryID)
	if err != nil || !ok || d.State != stateSent || r.Overdue() {
		return err
	}
	if wanted, err := b.waitsFor(ctx, d, r); err != nil || !wanted {
		return err
	}
	ch, err := b.channel(ctx, d.Channel, r.AgentID)
	if err != nil || ch == nil {
		return err
	}
	silent, err := b.silent(ctx, d, r)
	if err != nil {
		return err
	}
	mine, err := b.noteReminder(ctx, d, job.Args.Number-1, job.Args.Number)
	if err != nil || !mine {
		return err
	}
	_, err = ch.Send(ctx, Recipient{Identity: d.Identity, ReplyTo: d.ref()}, Card{Head: reminder(r), Silent: silent})
	if err == nil || errors.Is(err, ErrUnreachable) {
		return nil
	}
	if _, failed := b.noteReminder(context.WithoutCancel(ctx), d, job.Args.Number, job.Args.Number-1); failed != nil {
		return failed
	}
	return again(job, fmt.Errorf("send reminder: %w", err))
}

// noteReminder moves the count of a card's reminders, unless another job has.
// A later reminder overtakes one that was never sent.
func (b *Bot) noteReminder(ctx context.Context, d delivery, from, to int) (bool, error) {
	tag, err := b.Pool.Exec(ctx, `
		UPDATE card_deliveries
		SET reminded = $3
		WHERE id = $1
		  AND (reminded = $2 OR reminded < $2 AND $2 < $3)`, d.ID, from, to)
	if err != nil {
		return false, fmt.Errorf("note reminder: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// reminder says what waits, and until when.
func reminder(r approvals.Request) string {
	text := fmt.Sprintf("⏰ Request #%d still waits for you: %s, from %s. Open until %s.",
		r.ShortID, oneLine(r.Resource(), maxKey), from(r), stamp.Minute(r.ExpiresAt))
	if r.Settings.Needed() > 1 {
		text += " " + tally(r)
	}
	return text
}
