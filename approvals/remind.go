package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/fault"
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

// remindAt is when the number-th reminder of r is due: one an interval.
func (r Request) remindAt(number int) time.Time {
	return r.CreatedAt.Add(time.Duration(number*r.Settings.RemindAfterMinutes) * time.Minute)
}

// remindersDue is how many reminders of the request r have been due so far, at most
// maxReminders; 0 where its rule wants none.
var remindersDue = fmt.Sprintf(`LEAST(%d, COALESCE(floor(
	extract(epoch FROM clock_timestamp() - r.created_at) / 60 / NULLIF((r.settings ->> 'remindAfterMinutes')::integer, 0)), 0))::integer`, maxReminders)

// remindJobs schedule the next reminder, while the question is open.
func remindJobs(r Request) []river.InsertManyParams {
	number := r.Reminders + 1
	at := r.remindAt(number)
	if r.Settings.RemindAfterMinutes == 0 || number > maxReminders || !at.Before(r.ExpiresAt) {
		return nil
	}
	return []river.InsertManyParams{{Args: RemindArgs{RequestID: r.ID, Number: number}, InsertOpts: &river.InsertOpts{ScheduledAt: at}}}
}

// Remind queues the number-th reminder of an open request, or the last that is due
// in place of those that were missed, and schedules the next. Once it or a later one has been, after the end, and while the requester is
// asked in their own session, it does nothing. Where nobody has a card nobody is
// told of a reminder.
func (s *Service) Remind(ctx context.Context, id string, number int) error {
	var r Request
	var reminded bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, reminded, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET reminders = GREATEST($2, `+remindersDue+`)
			WHERE r.id = $1
			  AND r.reminders < $2
			  AND r.status = 'pending'
			  AND r.mode = 'async'
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
			jobs = append(jobs, cardJob(RemindCardArgs{DeliveryID: card, Number: r.Reminders}))
		}
		if len(cards) == 0 {
			return s.insert(ctx, tx, jobs)
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
// names it, for each session that shares the question, the record, the news for
// the requester, and the jobs.
func (s *Service) pressed(ctx context.Context, tx pgx.Tx, r Request, kind string, jobs []river.InsertManyParams) error {
	duplicates, err := duplicatesOf(ctx, tx, r)
	if err != nil {
		return err
	}
	for _, one := range append([]Request{r}, duplicates...) {
		if one.Status != Pending {
			continue
		}
		_, err := session.Append(ctx, tx, one.AgentID, one.SessionID, kind, map[string]any{
			"requestId": one.ID, "shortId": one.ShortID, "resourceType": one.ResourceType, "resourceKey": one.Resource(),
			"reminders": r.Reminders, "expiresAt": one.ExpiresAt,
		})
		if err != nil {
			return err
		}
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

// Work reminds once, however often it runs. What it does not do in time, or is
// called for too early, by the database's clock, Reconcile does.
func (w *RemindWorker) Work(ctx context.Context, job *river.Job[RemindArgs]) error {
	r, err := Lookup(ctx, w.Service.Pool, job.Args.RequestID)
	if known, ok := fault.As(err); ok && known.Kind == fault.NotFound {
		return nil
	}
	if err != nil || r.ReadAt.Before(r.remindAt(job.Args.Number)) {
		return err
	}
	return w.Service.Remind(ctx, r.ID, job.Args.Number)
}

// remindOverdue covers jobs that were lost, late or too early: of the reminders
// that are due it gives the last.
func (s *Service) remindOverdue(ctx context.Context) error {
	rows, err := s.Pool.Query(ctx, `
		SELECT r.id, `+remindersDue+`
		FROM approval_requests r
		WHERE r.status = 'pending'
		  AND r.mode = 'async'
		  AND r.duplicate_of IS NULL
		  AND clock_timestamp() < r.expires_at
		  AND r.reminders < `+remindersDue+`
		LIMIT 1000`)
	if err != nil {
		return fmt.Errorf("find overdue reminders: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[RemindArgs])
	if err != nil {
		return fmt.Errorf("find overdue reminders: %w", err)
	}
	var failed error
	for _, one := range due {
		failed = errors.Join(failed, s.Remind(ctx, one.RequestID, one.Number))
	}
	return failed
}
