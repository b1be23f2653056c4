package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/approvals"
	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/internal/stamp"
	"holm/policy"
)

// requesterWorker works approvals.NotifyRequesterArgs: it hands the news to
// one job for each of the requester's addresses, so that one that fails
// repeats nothing at the others, and goes on with the calls that were typed.
type requesterWorker struct {
	river.WorkerDefaults[approvals.NotifyRequesterArgs]
	bot *Bot
}

// NextRetry implements river.Worker.
func (w *requesterWorker) NextRetry(job *river.Job[approvals.NotifyRequesterArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work queues the messages and completes the job in one transaction.
func (w *requesterWorker) Work(ctx context.Context, job *river.Job[approvals.NotifyRequesterArgs]) error {
	b := w.bot
	r, err := approvals.Lookup(ctx, b.Pool, job.Args.RequestID)
	if isKnown(err, fault.NotFound) {
		return nil // deleted with its agent
	}
	if err != nil {
		return err
	}
	jobs, err := b.newsJobs(ctx, r, job.Args)
	if err != nil {
		return err
	}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if err := b.queue(ctx, tx, jobs...); err != nil {
			return err
		}
		if err := b.touchRequester(ctx, tx, r.RequesterID); err != nil {
			return err
		}
		if err := b.wakeCalls(ctx, tx, r); err != nil {
			return err
		}
		crashpoint.Reach(crashpoint.TellingNews)
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// newsJobs tell the news at each of the requester's addresses.
func (b *Bot) newsJobs(ctx context.Context, r approvals.Request, change approvals.NotifyRequesterArgs) (jobs []river.JobArgs, err error) {
	text := news(r, change.Version)
	if change.News != "" {
		text = openNews(r, change.News)
	}
	if text == "" {
		return nil, nil
	}
	if typed, err := b.tellsResult(ctx, r); err != nil || typed {
		return nil, err
	}
	addresses, err := identity.Addresses(ctx, b.Pool, r.RequesterID)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		at, err := b.threadOf(ctx, r, a)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, noticeArgs{
			AgentID: r.AgentID, Channel: a.Channel, Identity: a.Identity, Text: text, ReplyTo: at, Quiet: r.Settings.Risk != policy.RiskHigh,
		})
	}
	return jobs, nil
}

// threadOf is the message in whose thread of their own chat a person asked for r,
// zero for none: with a call that they typed, or in their conversation with the
// agent.
func (b *Bot) threadOf(ctx context.Context, r approvals.Request, a identity.Address) (at MessageRef, err error) {
	var raw string
	err = b.Pool.QueryRow(ctx, `
		SELECT at::text
		FROM chat_calls
		WHERE request_id = $1
		  AND channel = $2
		  AND identity = $3
		UNION ALL
		SELECT message
		FROM chats
		WHERE session_id = $4
		  AND channel = $2
		  AND identity = $3
		  AND chat = ''
		LIMIT 1`, r.ID, a.Channel, a.Identity, r.SessionID).Scan(&raw)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return at, fmt.Errorf("find thread: %w", err)
	}
	if json.Unmarshal([]byte(raw), &at) != nil || at.Thread == "" {
		return MessageRef{}, nil
	}
	return at, nil
}

// openNews is what a requester is told of an open request; empty once it has
// ended.
func openNews(r approvals.Request, event string) string {
	about := fmt.Sprintf("Request #%d (%s) still waits", r.ShortID, oneLine(r.Resource(), maxKey))
	switch {
	case r.Status != approvals.Pending:
		return ""
	case event == session.ApprovalReminded:
		return about + ": its reviewers were reminded. It is open until " + stamp.Minute(r.ExpiresAt) + "."
	case event == session.ApprovalEscalated:
		return about + ": further people may answer it as well. It is open until " + stamp.Minute(r.ExpiresAt) + "."
	case event == session.ApprovalUndelivered && r.UndeliveredAt != nil:
		return about + ": nobody who may answer could be reached so far. It is open until " + stamp.Minute(r.ExpiresAt) + "."
	case event == session.ApprovalDelivered && r.UndeliveredAt == nil:
		return about + ": it has now reached somebody who may answer."
	}
	return ""
}

// news is what a requester is told of the change that made the version; empty
// when another change tells it, or nobody needs to hear of it.
func news(r approvals.Request, version int) string {
	about := fmt.Sprintf("Request #%d (%s)", r.ShortID, oneLine(r.Resource(), maxKey))
	switch {
	case r.Status == approvals.Pending:
		return ""
	case r.FinishedAt != nil && version < r.Version:
		return "" // the job of the end itself tells more
	case r.FinishedAt != nil:
		return about + ": " + outcome(r, Clock{})
	case r.ClaimedAt != nil && version == r.Version:
		return "" // the call began; the decision was told, the end will be
	case r.ResolvedBy != nil && *r.ResolvedBy == r.RequesterID:
		return "" // they did it themselves
	}
	text := about + " was " + ending(r, Clock{}) + "."
	if r.Status == approvals.Expired {
		text = about + " " + ending(r, Clock{}) + "."
	}
	if r.Reason != nil {
		text += " Reason: " + quoted(*r.Reason)
	}
	return text
}
