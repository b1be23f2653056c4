package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
)

// outsider stands in claimed_by for whoever asked the gate alone and runs the
// call itself. No process has such an id: those of package wake have 32 bits.
const outsider int64 = 1 << 40

// ReportPatience is how long the outcome of a call that ran outside is waited
// for before it is shown as unknown. A report that comes later corrects that.
const ReportPatience = time.Hour

// Outside tells whether the call was claimed to be run elsewhere. Such a request
// answers no further call: each use of an approval for one call is asked for.
func (r Request) Outside() bool { return r.ClaimedBy != nil && *r.ClaimedBy == outsider }

// ClaimOutside is Claim for a caller that runs the call itself. The claim is the
// use of the approval, whether or not the caller then runs anything; see Report.
func (s *Service) ClaimOutside(ctx context.Context, r Request, c Call) (Request, bool, error) {
	return s.claim(ctx, r, c, outsider)
}

// ReleaseOutside gives back a claim whose caller has not been told of it. Nobody
// but who made the claim may call it.
func (s *Service) ReleaseOutside(ctx context.Context, requestID string) error {
	return s.release(ctx, requestID, outsider)
}

// maxMessage bounds what a report says in words.
const maxMessage = 1000

// Report tells what became of a call that ran outside: Succeeded or Failed, with
// words for people. It may come once; the same again changes nothing.
func (s *Service) Report(ctx context.Context, requestID string, outcome Outcome, message string) (Request, error) {
	if outcome != Succeeded && outcome != Failed {
		return Request{}, fault.Invalidf("outcome: want succeeded or failed")
	}
	if len([]rune(message)) > maxMessage {
		return Request{}, fault.Invalidf("message: at most %d characters", maxMessage)
	}
	var r Request
	var moved bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, moved, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET finished_at = clock_timestamp(),
			    outcome = $3,
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.claimed_by = $2
			  AND (r.finished_at IS NULL OR r.outcome = 'outcome_unknown')
			RETURNING `+columns, requestID, outsider, outcome))
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if moved {
			return s.executed(ctx, tx, r, message)
		}
		r, err = Lookup(ctx, tx, requestID)
		return err
	})
	switch {
	case err != nil:
		return Request{}, err
	case moved:
		s.published(r)
	case !r.Outside():
		return Request{}, fault.New(fault.Conflict, "not_claimed", "request %d has let no call through whose outcome could be reported", r.ShortID)
	case *r.Outcome != outcome:
		return Request{}, fault.New(fault.Conflict, "already_reported", "the outcome of request %d was reported as %s", r.ShortID, *r.Outcome)
	}
	return r, nil
}
