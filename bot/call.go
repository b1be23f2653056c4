package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/internal/stamp"
)

// CallQueue is the River queue of calls that people type. They may take long,
// and hold up no cards there.
const CallQueue = "calls"

// callArgs makes the call that was typed in a stored event.
type callArgs inboxArgs

// Kind names the job in River's table.
func (callArgs) Kind() string { return "bot_call" }

func (b *Bot) queueCall(ctx context.Context, tx pgx.Tx, args callArgs) error {
	_, err := b.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{
		Args: args, InsertOpts: &river.InsertOpts{Queue: CallQueue, MaxAttempts: 100},
	}})
	if err != nil {
		return fmt.Errorf("queue call: %w", err)
	}
	return nil
}

// States of a call.
const (
	callQueued  = "queued"
	callWaiting = "waiting"
	callSent    = "sent"
	callDone    = "done"
)

// chatCall is one call that a person typed.
type chatCall struct {
	Channel   string
	EventID   string
	SessionID string
	AgentID   string
	UserID    string
	Identity  string
	Tool      string
	Args      []byte
	State     string
	RequestID *string
	SentBy    *int64
	// At is the message in whose thread the answers go, zero for none.
	At MessageRef
}

func (b *Bot) readCall(ctx context.Context, a callArgs) (c chatCall, ok bool, err error) {
	rows, err := b.Pool.Query(ctx, `
		SELECT channel, event_id, session_id, agent_id, user_id, identity, tool, args, state, request_id, sent_by, at
		FROM chat_calls
		WHERE channel = $1
		  AND event_id = $2`, a.Channel, a.EventID)
	if err != nil {
		return c, false, fmt.Errorf("read call: %w", err)
	}
	c, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[chatCall])
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil // deleted with its agent
	}
	if err != nil {
		return c, false, fmt.Errorf("read call: %w", err)
	}
	return c, true, nil
}

// callWorker works callArgs.
type callWorker struct {
	river.WorkerDefaults[callArgs]
	bot *Bot
}

// Timeout implements river.Worker: there is none. The gate and the server have
// their own, and a second attempt beside a first would tell of it too early;
// that of a process that died is found by the lock it no longer holds.
func (w *callWorker) Timeout(*river.Job[callArgs]) time.Duration { return -1 }

// NextRetry implements river.Worker.
func (w *callWorker) NextRetry(job *river.Job[callArgs]) time.Time { return retryAt(job.Attempt) }

// Work brings the call as far as it gets: to its result, or to the request
// that it has to wait for. A call is sent once at most: by the job that notes
// so first. When that job comes back without an end, its process died, and
// nobody knows what became of the call.
func (w *callWorker) Work(ctx context.Context, job *river.Job[callArgs]) error {
	b := w.bot
	c, ok, err := b.readCall(ctx, job.Args)
	if err != nil || !ok || c.State == callDone {
		return err
	}
	if c.State == callSent {
		if *c.SentBy != job.ID {
			return nil // the job that sent it finds its end
		}
		return b.lostCall(ctx, job, c)
	}
	s, err := session.Get(ctx, b.Pool, c.AgentID, c.SessionID)
	if isKnown(err, fault.NotFound) {
		return nil // deleted with its agent
	}
	if err != nil {
		return err
	}
	still, err := b.speaksFor(ctx, c.address(), s.RequesterID)
	if err != nil {
		return err
	}
	if !still {
		return b.endCall(ctx, job, c, ToolAnswer{Refusal: "This account is no longer that of who asked. Nothing was sent."})
	}
	answer, err := b.Runner.Call(ctx, ToolCall{
		Session: s, Tool: c.Tool, Args: c.Args, Waited: c.waited(),
		Sending: func(ctx context.Context, requestID string) error { return b.sending(ctx, job, requestID) },
	})
	switch {
	case errors.Is(err, errSent):
		return nil
	case err != nil:
		return again(job, fmt.Errorf("make call: %w", err))
	case answer.Waits != "":
		return b.waits(ctx, job, c, answer.Waits)
	}
	return b.endCall(context.WithoutCancel(ctx), job, c, answer)
}

// errSent stops a call that another job is sending or has sent.
var errSent = errors.New("another job sends the call")

// sending notes that the call is about to be sent, and by whom.
func (b *Bot) sending(ctx context.Context, job *river.Job[callArgs], requestID string) error {
	tag, err := b.Pool.Exec(ctx, `
		UPDATE chat_calls
		SET state = 'sent',
		    sent_by = $3,
		    request_id = COALESCE(NULLIF($4, ''), request_id)
		WHERE channel = $1
		  AND event_id = $2
		  AND state IN ('queued', 'waiting')`, job.Args.Channel, job.Args.EventID, job.ID, requestID)
	if err != nil {
		return fmt.Errorf("note that a call is sent: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errSent
	}
	return nil
}

// lostCall ends a call whose process died after the call was noted as sent.
// What a request for approval knows of it is told; nothing is sent again.
func (b *Bot) lostCall(ctx context.Context, job *river.Job[callArgs], c chatCall) error {
	text := "The outcome is unknown: the call had been sent when Holm stopped, and may have run. It is not sent again by itself; look before you send it again."
	if c.RequestID != nil {
		r, err := approvals.Lookup(ctx, b.Pool, *c.RequestID)
		switch {
		case err != nil:
			return err
		case r.Executing():
			return river.JobSnooze(2 * time.Second) // its end will be found
		case r.FinishedAt != nil:
			text = outcome(r, Clock{}) + " Its result was lost when Holm stopped."
		}
	}
	return b.endCall(ctx, job, c, ToolAnswer{Refusal: text})
}

// waits notes the request that the call waits for, and tells the person. The
// lock on the request lets its decision come either before, and then the call
// goes on at once, or after, and then requesterWorker finds the call.
func (b *Bot) waits(ctx context.Context, job *river.Job[callArgs], c chatCall, requestID string) error {
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM approval_requests WHERE id = $1 FOR SHARE`, requestID); err != nil {
			return fmt.Errorf("hold request: %w", err)
		}
		r, err := approvals.Lookup(ctx, tx, requestID)
		if err != nil {
			return err
		}
		if r.Status != approvals.Pending && !r.Executing() {
			if err := b.queueCall(ctx, tx, job.Args); err != nil {
				return err
			}
		} else if c.State == callQueued {
			reached, err := approvals.Reached(ctx, tx, r)
			if err != nil {
				return err
			}
			if err := b.queue(ctx, tx, c.notice(waitingText(r, reached))); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `
			UPDATE chat_calls
			SET state = 'waiting',
			    request_id = $3
			WHERE channel = $1
			  AND event_id = $2
			  AND state IN ('queued', 'waiting')`, c.Channel, c.EventID, requestID)
		if err != nil {
			return fmt.Errorf("note what a call waits for: %w", err)
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

func waitingText(r approvals.Request, reached bool) string {
	if r.Executing() {
		return fmt.Sprintf("Request #%d (%s) is running already. Its result comes here.", r.ShortID, oneLine(r.Resource(), maxKey))
	}
	text := fmt.Sprintf("Waiting for approval: request #%d (%s), open until %s. The result comes here by itself.",
		r.ShortID, oneLine(r.Resource(), maxKey), stamp.Minute(r.ExpiresAt))
	if !reached {
		text += " Nobody who may answer can be reached by chat at the moment."
	}
	return text
}

// endCall stores the end of a call and queues what the person is told: nothing,
// where the account it was typed from has become somebody else's.
func (b *Bot) endCall(ctx context.Context, job *river.Job[callArgs], c chatCall, a ToolAnswer) error {
	notice, failed := c.told(a)
	still, err := b.speaksFor(ctx, c.address(), c.UserID)
	if err != nil {
		return err
	}
	err = db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE chat_calls
			SET state = 'done',
			    done_at = now()
			WHERE channel = $1
			  AND event_id = $2
			  AND state <> 'done'`, c.Channel, c.EventID)
		if err != nil {
			return fmt.Errorf("store the end of a call: %w", err)
		}
		if tag.RowsAffected() == 1 {
			_, err := session.Append(ctx, tx, c.AgentID, c.SessionID, session.ToolResult, map[string]any{"tool": c.Tool, "isError": failed})
			if err != nil {
				return err
			}
			if still {
				if err := b.queue(ctx, tx, notice); err != nil {
					return err
				}
			}
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err == nil {
		b.Hub.Publish(append(session.Keys(c.AgentID, c.SessionID), audit.QueuedKey)...)
	}
	return err
}

// waited is the request that the call has waited for, empty for none.
func (c chatCall) waited() string {
	if c.RequestID == nil {
		return ""
	}
	return *c.RequestID
}

func (c chatCall) address() identity.Address {
	return identity.Address{Channel: c.Channel, Identity: c.Identity}
}

// notice is a message to whoever typed the call.
func (c chatCall) notice(text string) noticeArgs {
	return noticeArgs{AgentID: c.AgentID, Channel: c.Channel, Identity: c.Identity, Text: text, ReplyTo: c.At, Lasting: true}
}

// told is what the person gets to read of the end.
func (c chatCall) told(a ToolAnswer) (n noticeArgs, failed bool) {
	name := oneLine(c.Tool, maxKey)
	switch {
	case a.Ended != nil:
		return c.notice(fmt.Sprintf("%s: request #%d %s", name, a.Ended.ShortID, endedText(*a.Ended))), true
	case a.Result == nil:
		return c.notice(name + ": " + Visible(a.Refusal)), true
	}
	text, failed := readResult(a.Result)
	head := "✅ " + name
	if failed {
		head = "⚠ " + name + " failed"
	}
	if text == "" {
		return c.notice(head + ": it gave no text."), failed
	}
	n = c.notice(head + "\n" + text)
	n.File, n.Caption = "result.txt", head
	return n, failed
}

func endedText(r approvals.Request) string {
	text := "was " + ending(r, Clock{}) + "."
	if r.Status == approvals.Expired {
		text = ending(r, Clock{}) + "."
	}
	if r.Status == approvals.Approved {
		text = "was approved. " + execution(r, Clock{})
	}
	if r.Reason != nil {
		text += " Reason: " + quoted(*r.Reason)
	}
	return text
}

// wakeCalls goes on with calls that wait for a request that has been answered, was
// asked anew or has ended, or for one that shared its end. A refusal ends them here:
// it is told by itself.
func (b *Bot) wakeCalls(ctx context.Context, tx pgx.Tx, r approvals.Request) error {
	if r.Status == approvals.Pending || r.Executing() {
		return nil
	}
	goesOn := r.Status == approvals.Approved || r.Superseded()
	rows, err := tx.Query(ctx, `
		UPDATE chat_calls c
		SET state = CASE WHEN $2 THEN 'waiting' ELSE 'done' END,
		    done_at = CASE WHEN $2 THEN NULL ELSE now() END
		FROM approval_requests own
		WHERE (own.id = $1 OR own.duplicate_of = $1)
		  AND own.status = $3
		  AND c.request_id = own.id
		  AND c.state = 'waiting'
		RETURNING c.channel, c.event_id`, r.ID, goesOn, string(r.Status))
	if err != nil {
		return fmt.Errorf("find waiting calls: %w", err)
	}
	calls, err := pgx.CollectRows(rows, pgx.RowToStructByPos[callArgs])
	if err != nil {
		return fmt.Errorf("find waiting calls: %w", err)
	}
	for _, c := range calls {
		if !goesOn {
			break
		}
		if err := b.queueCall(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

// tellsResult tells whether the end of a request is told by the result of a
// call that was typed.
func (b *Bot) tellsResult(ctx context.Context, r approvals.Request) (typed bool, err error) {
	if r.FinishedAt == nil {
		return false, nil
	}
	err = b.Pool.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT FROM chat_calls
		    WHERE request_id = $1
		      AND state IN ('sent', 'done')
		      AND sent_by IS NOT NULL)`, r.ID).Scan(&typed)
	if err != nil {
		return false, fmt.Errorf("find typed calls: %w", err)
	}
	return typed, nil
}
