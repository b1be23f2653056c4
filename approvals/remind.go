package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/identity"
	"holm/internal/session"
)

// maxReminders is how often one question is brought up again: after that a
// reminder is noise.
const maxReminders = 5

// RemindArgs reminds those whom an open request waits for, for the Number-th time.
type RemindArgs struct {
	RequestID string `json:"requestId"`
	Number    int    `json:"number"`
}

// Kind names the job in River's table.
func (RemindArgs) Kind() string { return "approval_remind" }

// RemindCardArgs sends a reminder below one card. Worked by package bot.
type RemindCardArgs struct {
	DeliveryID string `json:"deliveryId"`
	Number     int    `json:"number"`
}

// Kind names the job in River's table.
func (RemindCardArgs) Kind() string { return "approval_remind_card" }

// remindJobs schedule the reminder after done of them: one an interval, while
// the question is open.
func remindJobs(r Request) []river.InsertManyParams {
	number := r.Reminders + 1
	at := r.CreatedAt.Add(time.Duration(number*r.Settings.RemindAfterMinutes) * time.Minute)
	if r.Settings.RemindAfterMinutes == 0 || number > maxReminders || !at.Before(r.ExpiresAt) {
		return nil
	}
	return []river.InsertManyParams{{Args: RemindArgs{RequestID: r.ID, Number: number}, InsertOpts: &river.InsertOpts{ScheduledAt: at}}}
}

// Remind queues the number-th reminder of an open request and schedules the
// next. Once it has been, or after the end, it does nothing.
func (s *Service) Remind(ctx context.Context, id string, number int) error {
	var r Request
	var reminded bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, reminded, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET reminders = $2
			WHERE r.id = $1
			  AND r.reminders = $2 - 1
			  AND r.status = 'pending'
			  AND clock_timestamp() < r.expires_at
			RETURNING `+columns, id, number))
		if err != nil || !reminded {
			return err
		}
		cards, err := undecided(ctx, tx, r)
		if err != nil {
			return err
		}
		jobs := remindJobs(r)
		for _, card := range cards {
			jobs = append(jobs, cardJob(RemindCardArgs{DeliveryID: card, Number: number}))
		}
		return s.pressed(ctx, tx, r, session.ApprovalReminded, jobs)
	})
	if err != nil {
		return fmt.Errorf("remind: %w", err)
	}
	if reminded {
		s.published(r)
	}
	return nil
}

// undecided are the cards of those who may decide r and have not approved it.
func undecided(ctx context.Context, q db.Queryer, r Request) ([]string, error) {
	rows, err := q.Query(ctx, `
		SELECT d.id
		FROM card_deliveries d
		JOIN approval_requests r ON r.id = d.request_id
		JOIN users recipient ON recipient.id = d.user_id
		WHERE r.id = $1
		  AND d.state = 'sent'
		  AND approval_stands(d.user_id, `+aboutR+`)
		  AND NOT EXISTS (
		      SELECT 1
		      FROM approval_votes v
		      LEFT JOIN users voter ON voter.id = v.approver
		      WHERE v.request_id = r.id
		        AND COALESCE(voter.merged_into, v.approver) = COALESCE(recipient.merged_into, recipient.id)
		  )
		ORDER BY d.id`, r.ID)
	if err != nil {
		return nil, fmt.Errorf("find cards to remind of: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// pressed writes what follows from a reminder or an escalation: the event that
// names it, the record, the news for the requester, and the jobs.
func (s *Service) pressed(ctx context.Context, tx pgx.Tx, r Request, kind string, jobs []river.InsertManyParams) error {
	_, err := session.Append(ctx, tx, r.AgentID, r.SessionID, kind, map[string]any{
		"requestId": r.ID, "shortId": r.ShortID, "resourceType": r.ResourceType, "resourceKey": r.ResourceKey,
		"reminders": r.Reminders, "expiresAt": r.ExpiresAt,
	})
	if err != nil {
		return err
	}
	if err := s.audit(ctx, tx, kind, "system", r); err != nil {
		return err
	}
	addresses, err := identity.Addresses(ctx, tx, r.RequesterID)
	if err != nil {
		return err
	}
	if len(addresses) > 0 {
		jobs = append(jobs, cardJob(NotifyRequesterArgs{RequestID: r.ID, Version: r.Version, News: kind}))
	}
	return s.insert(ctx, tx, jobs)
}

// RemindWorker works RemindArgs.
type RemindWorker struct {
	river.WorkerDefaults[RemindArgs]
	Service *Service
}

// Work reminds once, however often it runs.
func (w *RemindWorker) Work(ctx context.Context, job *river.Job[RemindArgs]) error {
	return w.Service.Remind(ctx, job.Args.RequestID, job.Args.Number)
}
