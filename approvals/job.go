package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/identity"
)

// CardQueue is the River queue of everything that a platform is told; only
// processes that run channels work it.
const CardQueue = "cards"

// DeliverArgs sends one card to one recipient. Worked by package bot.
type DeliverArgs struct {
	DeliveryID string `json:"deliveryId" river:"unique"`
}

// Kind names the job in River's table.
func (DeliverArgs) Kind() string { return "approval_deliver" }

// UpdateCardArgs brings one delivered card to the state of its request.
// Worked by package bot.
type UpdateCardArgs struct {
	DeliveryID string `json:"deliveryId"`
	Version    int    `json:"version"`
}

// Kind names the job in River's table.
func (UpdateCardArgs) Kind() string { return "approval_update_card" }

// NotifyRequesterArgs tells the requester, in their own chats, how a request
// stands. Worked by package bot.
type NotifyRequesterArgs struct {
	RequestID string `json:"requestId"`
	Version   int    `json:"version"`
	// News is the event to tell of, while the request is open: a reminder, an
	// escalation, that it reaches nobody or has reached somebody after all. Empty for what the request's own state says.
	News string `json:"news,omitempty"`
}

// Kind names the job in River's table.
func (NotifyRequesterArgs) Kind() string { return "approval_notify_requester" }

// ExpireArgs ends a question whose deadline has passed.
type ExpireArgs struct {
	RequestID string `json:"requestId"`
}

// Kind names the job in River's table.
func (ExpireArgs) Kind() string { return "approval_expire" }

// EndHoldArgs ends a wait for a reason that nobody ended.
type EndHoldArgs struct {
	RequestID string `json:"requestId"`
}

// Kind names the job in River's table.
func (EndHoldArgs) Kind() string { return "approval_end_hold" }

// ReconcileArgs repairs what a crash left behind. It is periodic.
type ReconcileArgs struct{}

// Kind names the job in River's table.
func (ReconcileArgs) Kind() string { return "approval_reconcile" }

func cardJob(args river.JobArgs) river.InsertManyParams {
	return river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: CardQueue, MaxAttempts: 100}}
}

func expireJob(r Request) river.InsertManyParams {
	return river.InsertManyParams{Args: ExpireArgs{RequestID: r.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: r.ExpiresAt}}
}

// undeliveredJob looks a minute after the ask, by the database's clock; what
// comes too early is repaired by Reconcile.
func undeliveredJob(r Request) river.InsertManyParams {
	return river.InsertManyParams{Args: UndeliveredArgs{RequestID: r.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: r.CreatedAt.Add(time.Minute)}}
}

func (s *Service) insert(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("queue jobs: %w", err)
	}
	return nil
}

// queueCards makes a delivery row and its job for every address of everybody who
// may decide r and has none yet, or whom none was sent to because they might not;
// for none while r is asked in its own session.
func queueCards(ctx context.Context, tx pgx.Tx, r Request) ([]river.InsertManyParams, error) {
	if r.Mode == Realtime {
		return nil, nil
	}
	all, err := reviewers(ctx, tx, r)
	if err != nil {
		return nil, err
	}
	var jobs []river.InsertManyParams
	for _, to := range all {
		id := uuid.Must(uuid.NewV7()).String()
		button := make([]byte, 16)
		rand.Read(button)
		err := tx.QueryRow(ctx, `
			INSERT INTO card_deliveries AS d (id, request_id, channel, identity, user_id, button_id)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (request_id, channel, identity) DO UPDATE
			SET state = 'queued'
			WHERE d.state = 'skipped'
			RETURNING d.id`,
			id, r.ID, to.Channel, to.Identity, to.UserID, button).Scan(&id)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
		case err != nil:
			return nil, fmt.Errorf("queue card: %w", err)
		default:
			jobs = append(jobs, cardJob(DeliverArgs{DeliveryID: id}))
		}
	}
	return jobs, nil
}

// DeliverOpen queues cards of an agent's open requests for reviewers who have
// none: somebody who has just become one sees what waits. Call it in the
// transaction of every change of roles, circles and addresses.
func (s *Service) DeliverOpen(ctx context.Context, tx pgx.Tx, agentID string) error {
	open, err := List(ctx, tx, agentID, Filter{Status: Pending, Limit: 200})
	if err != nil {
		return err
	}
	for _, r := range open {
		jobs, err := queueCards(ctx, tx, r)
		if err != nil {
			return err
		}
		if err := s.insert(ctx, tx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// updateJobs queues the edit of every card of r.
func updateJobs(ctx context.Context, q db.Queryer, r Request) ([]river.InsertManyParams, error) {
	rows, err := q.Query(ctx, `
		SELECT id
		FROM card_deliveries
		WHERE request_id = $1
		  AND state <> 'unreachable'`, r.ID)
	if err != nil {
		return nil, fmt.Errorf("find cards: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find cards: %w", err)
	}
	jobs := make([]river.InsertManyParams, len(ids))
	for i, id := range ids {
		jobs[i] = cardJob(UpdateCardArgs{DeliveryID: id, Version: r.Version})
	}
	return jobs, nil
}

// changedJobs are what follows from every move of r: cards and requester.
func changedJobs(ctx context.Context, q db.Queryer, r Request) ([]river.InsertManyParams, error) {
	jobs, err := updateJobs(ctx, q, r)
	return append(jobs, r.requesterJobs()...), err
}

// requesterJobs tell a person how r stands. It is for who works them to find where,
// and what waits for r: somebody whose last account was taken from them has left
// calls behind that are to end.
func (r Request) requesterJobs() []river.InsertManyParams {
	if r.RequesterID == identity.AgentRequester(r.AgentID) {
		return nil
	}
	return []river.InsertManyParams{cardJob(NotifyRequesterArgs{RequestID: r.ID, Version: r.Version})}
}
