package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/stamp"
)

// Hold keeps an open request for one reviewer who is writing the reason of a
// decision: until it ends nobody else can decide.
type Hold struct {
	// By is the reviewer's id, Name and Via are for people.
	By   string `json:"by"`
	Name string `json:"name"`
	Via  string `json:"via"`
	// Action is the decision that waits for its reason.
	Action Action    `json:"action"`
	Until  time.Time `json:"until"`
}

// HoldTime is how long a reviewer may take to write a reason.
const HoldTime = 2 * time.Minute

// Held is the hold on r, nil when anybody entitled may decide.
func (r Request) Held() *Hold {
	if r.Status != Pending {
		return nil
	}
	return r.Hold
}

// Await keeps a request for the actor of a decision that still lacks its
// reason, for HoldTime; the deadline of the request stays what it is. Awaiting
// the same decision again changes nothing, another one begins anew. A hold that
// nobody ends is a rejection without a reason when it was to be one, and else
// just over. Errors are those of Decide.
func (s *Service) Await(ctx context.Context, agentID, requestID string, action Action, actor Actor) (Request, error) {
	if !action.Decides() {
		return Request{}, fault.Invalidf("action %d is no decision", action)
	}
	var r Request
	var refused error
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		var approver string
		if r, approver, err = s.reviewable(ctx, tx, agentID, requestID, actor); err != nil {
			return err
		}
		if refused = mayAwait(r, action, approver); refused != nil {
			return nil
		}
		if h := r.Held(); h != nil && h.By == actor.ID() && h.Action == action {
			return nil
		}
		held, ok, err := hold(ctx, tx, r.ID, action, actor)
		if err != nil {
			return err
		}
		if !ok {
			r, refused, err = s.whyNot(ctx, tx, r, actor)
			return err
		}
		r = held
		if err := s.audit(ctx, tx, "approval_reason_awaited", actor.ID(), r); err != nil {
			return err
		}
		return s.heldChanged(ctx, tx, r, river.InsertManyParams{
			Args: EndHoldArgs{RequestID: r.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: r.Hold.Until},
		})
	})
	if err != nil {
		return Request{}, err
	}
	s.published(r)
	return r, refused
}

// mayAwait refuses to keep an open request for an approval that would be the second
// of one person: it could only keep others from theirs. One that judge takes is none.
func mayAwait(r Request, action Action, approver string) error {
	if r.Status != Pending || !action.Approves() {
		return nil
	}
	if earlier, voted := r.voteOf(approver); voted && !r.enough() {
		return alreadyVoted(r, earlier)
	}
	return nil
}

func hold(ctx context.Context, tx pgx.Tx, id string, action Action, actor Actor) (Request, bool, error) {
	r, ok, err := collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET hold = jsonb_build_object(
		        'by', $2::text, 'name', $3::text, 'via', $4::text, 'action', $5::int,
		        'until', clock_timestamp() + $6 * interval '1 second'),
		    version = r.version + 1
		WHERE r.id = $1
		  AND r.status = 'pending'
		  AND clock_timestamp() < r.expires_at
		  AND (r.hold IS NULL OR r.hold ->> 'by' = $2)
		RETURNING `+columns,
		id, actor.ID(), actor.Name, actor.Via, int(action), HoldTime.Seconds()))
	if err != nil {
		return Request{}, false, fmt.Errorf("hold: %w", err)
	}
	return r, ok, nil
}

// heldChanged queues what follows from a hold's begin or end.
func (s *Service) heldChanged(ctx context.Context, tx pgx.Tx, r Request, more ...river.InsertManyParams) error {
	jobs, err := updateJobs(ctx, tx, r)
	if err != nil {
		return err
	}
	return s.insert(ctx, tx, append(jobs, more...))
}

// DropHold ends the actor's hold without a decision; without one it does nothing.
func (s *Service) DropHold(ctx context.Context, agentID, requestID string, actor Actor) (Request, error) {
	var r Request
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		if r, _, err = s.reviewable(ctx, tx, agentID, requestID, actor); err != nil {
			return err
		}
		free, ok, err := collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET hold = NULL,
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.status = 'pending'
			  AND r.hold ->> 'by' = $2
			RETURNING `+columns, r.ID, actor.ID()))
		if err != nil || !ok {
			return err
		}
		r = free
		if err := s.audit(ctx, tx, "approval_reason_dropped", actor.ID(), r); err != nil {
			return err
		}
		return s.heldChanged(ctx, tx, r)
	})
	if err != nil {
		return Request{}, err
	}
	s.published(r)
	return r, nil
}

// GiveReason is the decision that the actor's hold waits for, with its reason.
// It is a Conflict when the hold is over or waits for another decision; other
// errors are those of Decide.
func (s *Service) GiveReason(ctx context.Context, agentID, requestID string, action Action, reason string, actor Actor) (Request, error) {
	d := action.decision(agentID, requestID, actor)
	d.Reason, d.held = reason, action
	return s.Decide(ctx, d)
}

// reviewable reads the question that a decision is about, which the actor may
// decide, and locks it, so that what refuses a move can be told truly. A hold of
// somebody else whose time is over is ended on the way. approver is the actor as
// votes name them: the user who lives on after a merge, or the operator.
func (s *Service) reviewable(ctx context.Context, tx pgx.Tx, agentID, id string, actor Actor) (r Request, approver string, err error) {
	var b pgx.Batch
	var ok bool
	may := actor.Admin
	approver = actor.ID()
	b.Queue(`
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.id = `+questionOf+`
		  AND r.agent_id = $2
		FOR NO KEY UPDATE`, id, agentID).
		Query(func(rows pgx.Rows) (err error) {
			r, ok, err = collect(rows, nil)
			return err
		})
	if !actor.Admin {
		queueMayDecide(&b, id, actor.UserID, &may, &approver)
	}
	if r, err = found(r, ok, db.Send(ctx, tx, &b), id); err != nil {
		return Request{}, "", err
	}
	if !may {
		return Request{}, "", mayNotDecide(ctx, tx, r, actor)
	}
	if h := r.Held(); h != nil && h.By != actor.ID() {
		ended, ok, err := s.endHold(ctx, tx, r.ID)
		if err != nil {
			return Request{}, "", err
		}
		if ok {
			r = ended
		}
	}
	if r.Settings.Needed() > 1 {
		r.Votes, err = Votes(ctx, tx, r.ID)
	}
	return r, approver, err
}

// endHold ends a hold whose time is over. It rejects for somebody who still may,
// under a rule that takes that without a reason.
func (s *Service) endHold(ctx context.Context, tx pgx.Tx, id string) (Request, bool, error) {
	const due = `
		WHERE r.id = $1
		  AND r.status = 'pending'
		  AND (r.hold ->> 'until')::timestamptz <= clock_timestamp()
		  AND clock_timestamp() < r.expires_at`
	r, ok, err := collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET status = 'rejected',
		    resolved_by = r.hold ->> 'by',
		    resolved_name = r.hold ->> 'name',
		    resolved_via = r.hold ->> 'via',
		    resolved_at = clock_timestamp(),
		    hold = NULL,
		    version = r.version + 1`+due+`
		  AND (r.hold ->> 'action')::int = $2
		  AND NOT COALESCE((r.settings ->> 'requireReason')::boolean, false)
		  AND (r.hold ->> 'by' = 'admin' OR approval_stands(r.hold ->> 'by', `+aboutR+`))
		RETURNING `+columns, id, int(Reject)))
	if err != nil {
		return Request{}, false, fmt.Errorf("end hold: %w", err)
	}
	if ok {
		return r, true, s.settle(ctx, tx, r, Decision{Actor: Actor{UserID: *r.ResolvedBy, Name: *r.ResolvedName, Via: *r.ResolvedVia}})
	}
	r, ok, err = collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET hold = NULL,
		    version = r.version + 1`+due+`
		RETURNING `+columns, id))
	if err != nil {
		return Request{}, false, fmt.Errorf("end hold: %w", err)
	}
	if !ok {
		return Request{}, false, nil
	}
	return r, true, s.heldChanged(ctx, tx, r)
}

// EndHold ends the request's hold if its time is over, and gives the request
// as it is now. It may be called by anybody at any time.
func (s *Service) EndHold(ctx context.Context, id string) (Request, error) {
	var r Request
	var ended bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, ended, err = s.endHold(ctx, tx, id)
		if err == nil && !ended {
			r, err = Lookup(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return Request{}, err
	}
	if ended {
		s.published(r)
	}
	return r, nil
}

// reasonAwaited is what others are told while r is held.
func reasonAwaited(r Request) error {
	return &fault.Error{Kind: fault.Conflict, Code: "reason_awaited",
		Message: fmt.Sprintf("%s is writing a reason for request %d; nobody else can decide it before %s",
			r.Hold.Name, r.ShortID, stamp.Clock(r.Hold.Until)),
		Data: map[string]any{"heldBy": r.Hold.By, "heldName": r.Hold.Name, "until": r.Hold.Until}}
}

// holdOver is what a reviewer is told whose reason came to no hold.
func holdOver(r Request) error {
	return fault.New(fault.Conflict, "reason_not_awaited", "request %d does not wait for this reason any more; nothing was changed", r.ShortID)
}

// EndHoldWorker works EndHoldArgs.
type EndHoldWorker struct {
	river.WorkerDefaults[EndHoldArgs]
	Service *Service
}

// Work ends the hold, or finds that it was ended or is gone with its agent. One
// whose time is not over by the database's clock is looked at again.
func (w *EndHoldWorker) Work(ctx context.Context, job *river.Job[EndHoldArgs]) error {
	r, err := w.Service.EndHold(ctx, job.Args.RequestID)
	if known, ok := fault.As(err); ok && known.Kind == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if h := r.Held(); h != nil {
		return river.JobSnooze(max(h.Until.Sub(r.ReadAt), time.Second))
	}
	return nil
}

// endOverdueHolds covers jobs that were lost or late.
func (s *Service) endOverdueHolds(ctx context.Context) error {
	ids, err := s.ids(ctx, `
		SELECT id
		FROM approval_requests
		WHERE status = 'pending'
		  AND hold IS NOT NULL
		  AND (hold ->> 'until')::timestamptz <= clock_timestamp()
		  AND clock_timestamp() < expires_at
		LIMIT 1000`)
	if err != nil {
		return fmt.Errorf("find overdue holds: %w", err)
	}
	for _, id := range ids {
		if _, err := s.EndHold(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
