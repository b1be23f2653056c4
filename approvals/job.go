package approvals

import (
	"context"
	"crypto/rand"
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

// cards makes a delivery row and its job for every address of everybody who may
// decide r and has none yet, or whom none was sent to because they might not; for
// none while r is asked in its own session.
func cards(ctx context.Context, tx pgx.Tx, r Request) (jobs []river.InsertManyParams, err error) {
	if r.Mode == Realtime {
		return nil, nil
	}
	var find, store pgx.Batch
	var to []reviewer
	queueReviewers(&find, r.ID, r.Settings, &to)
	if err := db.Send(ctx, tx, &find); err != nil {
		return nil, fmt.Errorf("list reviewers: %w", err)
	}
	queueCards(&store, r, to, &jobs)
	if err := db.Send(ctx, tx, &store); err != nil {
		return nil, fmt.Errorf("queue cards: %w", err)
	}
	return jobs, nil
}

// queueCards has the batch b make the delivery rows of r for these reviewers, and
// adds the jobs of those that were made.
func queueCards(b *pgx.Batch, r Request, to []reviewer, jobs *[]river.InsertManyParams) {
	if len(to) == 0 {
		return
	}
	n := len(to)
	ids, channels, identities, users, buttons := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i, to := range to {
		ids[i], buttons[i] = uuid.Must(uuid.NewV7()).String(), make([]byte, 16)
		rand.Read(buttons[i])
		channels[i], identities[i], users[i] = to.Channel, to.Identity, to.UserID
	}
	b.Queue(`
		INSERT INTO card_deliveries AS d (id, request_id, channel, identity, user_id, button_id)
		SELECT card.id, $1, card.channel, card.identity, card.user_id, card.button_id
		FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) AS card (id, channel, identity, user_id, button_id)
		ON CONFLICT (request_id, channel, identity) DO UPDATE
		SET state = 'queued'
		WHERE d.state = 'skipped'
		RETURNING d.id`, r.ID, ids, channels, identities, users, buttons).
		Query(func(rows pgx.Rows) error {
			var id string
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				*jobs = append(*jobs, cardJob(DeliverArgs{DeliveryID: id}))
				return nil
			})
			return err
		})
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
		jobs, err := cards(ctx, tx, r)
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
func updateJobs(ctx context.Context, tx pgx.Tx, r Request) (jobs []river.InsertManyParams, err error) {
	var b pgx.Batch
	queueUpdates(&b, r, &jobs)
	if err := db.Send(ctx, tx, &b); err != nil {
		return nil, fmt.Errorf("find cards: %w", err)
	}
	return jobs, nil
}

// queueUpdates has the batch b find the cards of r, and adds the jobs of their edits.
func queueUpdates(b *pgx.Batch, r Request, jobs *[]river.InsertManyParams) {
	b.Queue(`
		SELECT id
		FROM card_deliveries
		WHERE request_id = $1
		  AND state <> 'unreachable'`, r.ID).
		Query(func(rows pgx.Rows) error {
			var id string
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				*jobs = append(*jobs, cardJob(UpdateCardArgs{DeliveryID: id, Version: r.Version}))
				return nil
			})
			return err
		})
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
