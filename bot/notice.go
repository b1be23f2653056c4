package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/identity"
)

// noticeArgs sends a message to one person, in as many parts as it needs.
type noticeArgs struct {
	AgentID  string `json:"agentId"`
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	Text     string `json:"text"`
	// ReplyTo is the message that is answered, zero for none.
	ReplyTo MessageRef `json:"replyTo,omitzero"`
	// Quiet messages come silently in the quiet time of who reads them.
	Quiet bool `json:"quiet,omitempty"`
	// Lasting messages are sent however late; others are news that grow old.
	Lasting bool `json:"lasting,omitempty"`
	// File is the name under which a text of many parts goes as a file, with
	// Caption, where the channel sends files. Empty: always as text.
	File    string `json:"file,omitempty"`
	Caption string `json:"caption,omitempty"`
}

// Kind names the job in River's table.
func (noticeArgs) Kind() string { return "bot_notice" }

const (
	// noticeTime is how long news are worth sending.
	noticeTime = time.Hour
	// fewParts is how many messages a text may take before it goes as a file.
	fewParts = 3
)

// noticeWorker works noticeArgs.
type noticeWorker struct {
	river.WorkerDefaults[noticeArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *noticeWorker) Timeout(*river.Job[noticeArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *noticeWorker) NextRetry(job *river.Job[noticeArgs]) time.Time { return retryAt(job.Attempt) }

// Work sends the first part; a job for the others takes its place. It gives up
// on a person who cannot be reached, and on news that have grown old.
func (w *noticeWorker) Work(ctx context.Context, job *river.Job[noticeArgs]) error {
	n := job.Args
	ch, err := w.bot.channel(ctx, n.Channel, n.AgentID)
	if err != nil {
		return err
	}
	if ch == nil || !n.Lasting && age(job.JobRow) > noticeTime {
		return nil
	}
	to := Recipient{Identity: n.Identity, ReplyTo: n.ReplyTo}
	parts := pieces(n.Text, max(ch.Limits().Total, 1))
	files, ok := ch.(FileSender)
	if ok && n.File != "" && len(parts) > fewParts {
		err, parts = files.SendFile(ctx, to, n.File, []byte(n.Text), n.Caption), parts[:1]
		if errors.Is(err, ErrUnreachable) {
			return nil
		}
	} else {
		err = w.bot.sayNotice(ctx, ch, to, n, parts[0])
	}
	crashpoint.Reach(crashpoint.SentNotice)
	if err != nil {
		return again(job, fmt.Errorf("send notice: %w", err))
	}
	if len(parts) == 1 {
		return nil
	}
	n.Text, n.File = n.Text[len(parts[0]):], ""
	return db.InTx(context.WithoutCancel(ctx), w.bot.Pool, func(tx pgx.Tx) error {
		if err := w.bot.queue(ctx, tx, n); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

func (b *Bot) sayNotice(ctx context.Context, ch Channel, to Recipient, n noticeArgs, text string) error {
	if !n.Quiet {
		return b.say(ctx, ch, to, text)
	}
	silent, err := b.isQuiet(ctx, identity.Address{Channel: n.Channel, Identity: n.Identity})
	if err != nil {
		return err
	}
	return b.reach(ch, func() error {
		_, err := ch.Send(ctx, to, Card{Head: text, Silent: silent})
		return err
	})
}

// say sends a message of plain text. A person who cannot be reached is no
// error: nobody else is to be told.
func (b *Bot) say(ctx context.Context, ch Channel, to Recipient, text string) error {
	return b.reach(ch, func() error {
		_, err := ch.Send(ctx, to, Card{Head: text})
		return err
	})
}

func (b *Bot) reach(ch Channel, send func() error) error {
	err := send()
	if errors.Is(err, ErrUnreachable) {
		b.Log.Info("a person could not be reached", "channel", ch.Namespace())
		return nil
	}
	return err
}
