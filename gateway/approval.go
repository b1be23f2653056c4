package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holm/approvals"
	"holm/gateway/upstream"
	"holm/internal/crashpoint"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// blocked is a call that a rule wants approved: it uses an approval that
// stands, or asks and waits. again asks the caller to judge the call anew,
// because what held before may not hold any more.
func (g *Gateway) blocked(ctx context.Context, c *toolCall, j *judgement, deadline time.Time) (_ json.RawMessage, again bool, _ error) {
	ask, _ := j.question(c, g.requesterName(ctx, c.caller))
	ask.Realtime = g.askable(c, j)
	if r, ok, err := g.begunMeanwhile(ctx, c); err != nil {
		return nil, false, err
	} else if ok {
		return g.attached(ctx, c, j, ask, r, deadline, true)
	}
	if _, ok, err := g.Approvals.UseWindow(ctx, ask); err != nil {
		return nil, false, err
	} else if ok {
		result, err := g.forward(ctx, c, j)
		return result, false, err
	}
	r, err := g.Approvals.Ask(ctx, ask)
	if g.outdated(c, err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return g.attached(ctx, c, j, ask, r, deadline, false)
}

// outdated tells whether the call was judged by rules that hold no more, and has
// the next look at them find those that do.
func (g *Gateway) outdated(c *toolCall, err error) bool {
	if !errors.Is(err, approvals.ErrRulesChanged) {
		return false
	}
	g.Rules.Refresh(c.caller.AgentID)
	return true
}

// begunMeanwhile gives the request that c has waited for before, where another call
// has executed it or does: c shares that, as those do who were held.
func (g *Gateway) begunMeanwhile(ctx context.Context, c *toolCall) (r approvals.Request, ok bool, err error) {
	if c.waited == "" {
		return r, false, nil
	}
	r, err = g.Approvals.Current(ctx, c.waited)
	c.waited = "" // judged anew, it is a call like any other
	return r, err == nil && r.ClaimedAt != nil, err
}

// attached follows the request that stands for the call to its end. All who
// attach to one request share its one execution and its result, as long as they are
// one person: two who were parted meanwhile are asked about each by themselves.
// waited tells that the call has waited for it before.
func (g *Gateway) attached(ctx context.Context, c *toolCall, j *judgement, ask approvals.Call, r approvals.Request, deadline time.Time, waited bool) (_ json.RawMessage, again bool, err error) {
	for {
		if r.Status == approvals.Pending || r.Executing() {
			waited = true
			if r, err = g.askInPlace(ctx, c, r); err != nil {
				return nil, false, err
			}
			if r, err = g.await(ctx, c, r, deadline); err != nil {
				return nil, false, err
			}
		}
		own, err := identity.Same(ctx, g.Pool, c.session.RequesterID, r.RequesterID)
		if err != nil {
			return nil, false, err
		}
		switch {
		case r.Status == approvals.Pending, r.Executing():
			return nil, false, g.required(ctx, r)
		case r.Status == approvals.Approved && !own, r.Superseded():
			return nil, true, nil
		case r.Unclaimed():
			if waited {
				if j, ask, again, err = g.recheck(ctx, c, r); again || err != nil {
					return nil, again, err
				}
			}
			waited = true
			claimed, ok, err := g.claim(ctx, r, ask)
			if g.outdated(c, err) {
				continue
			}
			if err != nil {
				return nil, false, err
			}
			if ok {
				result, err := g.execute(ctx, c, j.entry, claimed)
				return result, false, err
			}
			if r, err = approvals.Lookup(ctx, g.Pool, r.ID); err != nil {
				return nil, false, err
			}
			if r.Unclaimed() {
				return nil, true, nil // the approval does not stand any more
			}
		case r.Status == approvals.Approved:
			return g.ended(ctx, r, waited)
		default:
			return nil, false, g.tell(ctx, r)
		}
	}
}

// recheck makes sure after a wait that the caller is still there and that its key
// is still good, and gives the call as it is judged now. again is true where r does
// not answer the question that it would be put as.
func (g *Gateway) recheck(ctx context.Context, c *toolCall, r approvals.Request) (j *judgement, ask approvals.Call, again bool, err error) {
	if isClosed(c.gone) {
		return nil, ask, false, context.Canceled // a retry claims it
	}
	if err := c.reprove(ctx); err != nil {
		return nil, ask, false, err
	}
	args, err := policy.ParseArgs(c.args)
	if err != nil {
		return nil, ask, false, err
	}
	if j, err = g.judge(ctx, c, args); err != nil {
		return nil, ask, false, err
	}
	ask, again, err = g.answered(ctx, c, j, r)
	return j, ask, again, err
}

// answered gives the question that the call would be put as now. again is true
// where r is no answer to it; where nothing is asked anew, r notes why it ran nothing.
func (g *Gateway) answered(ctx context.Context, c *toolCall, j *judgement, r approvals.Request) (ask approvals.Call, again bool, _ error) {
	ask, asks := j.question(c, g.requesterName(ctx, c.caller))
	why := ""
	switch {
	case j.verdict.Decision == policy.Deny:
		why = j.reason()
	case asks && ask.Answers(r):
		return ask, false, nil
	case j.verdict.Decision == policy.Allow:
		why = "other rules hold now, and by them no answer is needed"
	}
	if why == "" {
		return ask, true, nil
	}
	return ask, true, g.Approvals.HoldBack(ctx, r.ID, why)
}

// sameCaller refuses a late call whose key speaks for another person than when it
// was made: what was asked then is not theirs.
func (g *Gateway) sameCaller(ctx context.Context, before, now identity.Caller) error {
	same, err := identity.Same(ctx, g.Pool, before.RequesterID(), now.RequesterID())
	if err == nil && !same {
		err = fault.New(fault.Forbidden, "caller_changed", "this key speaks for another person than when the call was made; nothing was run, call again")
	}
	return err
}

// execute runs the call of a claimed request: the stored bytes, once. It goes
// on when the caller goes away, since the approval is spent and the result is
// kept for the next identical call.
func (g *Gateway) execute(ctx context.Context, c *toolCall, e *entry, r approvals.Request) (json.RawMessage, error) {
	ctx = context.WithoutCancel(ctx)
	if c.sending != nil {
		if err := c.sending(ctx, r.ID); err != nil {
			g.settle(r.ID, func() error { return g.Approvals.Release(ctx, r.ID) })
			return nil, err
		}
	}
	result, err := g.send(ctx, c, e, r.ArgsBytes)
	crashpoint.Reach(crashpoint.ExecutedCall)
	var down *UnavailableError
	if errors.As(err, &down) {
		// Nothing was sent, so nothing was spent.
		g.settle(r.ID, func() error { return g.Approvals.Release(ctx, r.ID) })
		return nil, err
	}
	outcome, kept := outcomeOf(result, err), keep(result, err)
	g.settle(r.ID, func() error { return g.Approvals.Finish(ctx, r.ID, outcome, kept) })
	return result, err
}

// stored is how an outcome is kept for a caller that comes back.
type stored struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *wireError      `json:"error,omitempty"`
}

// keep encodes what the caller was told, so that a later one is told the same.
func keep(result json.RawMessage, err error) []byte {
	if err == nil {
		// Spliced rather than encoded: the result's bytes stay as they are.
		return append(append([]byte(`{"result":`), result...), '}')
	}
	told, wire := answer(nil, err)
	raw, err := json.Marshal(stored{Result: told, Error: wire})
	if err != nil {
		return nil // an upstream's error with data that is no JSON: not kept
	}
	return raw
}

// ended answers for a call that has been executed: with its stored result, or
// by judging anew where the approval covers further calls than those that
// waited for this one.
func (g *Gateway) ended(ctx context.Context, r approvals.Request, waited bool) (json.RawMessage, bool, error) {
	if *r.Outcome == approvals.Unknown {
		return nil, false, g.tell(ctx, r)
	}
	if *r.Resolution != policy.Single && !waited {
		return nil, true, nil
	}
	if r.Result == nil {
		return errorResult(nil, fmt.Sprintf("Request %d was executed (%s), but its result was too large to be kept. It is not executed again.", r.ShortID, *r.Outcome),
			map[string]any{"error_type": "RESULT_NOT_KEPT", "code": codeLost, "request_id": r.ID, "short_id": r.ShortID, "outcome": *r.Outcome, "retryable": false}), false, nil
	}
	var s stored
	if err := json.Unmarshal(r.Result, &s); err != nil {
		return nil, false, fmt.Errorf("read stored result: %w", err)
	}
	if s.Error != nil {
		return nil, false, &upstream.RPCError{Code: s.Error.Code, Message: s.Error.Message, Data: s.Error.Data}
	}
	return s.Result, false, nil
}

// tell gives the caller the end of a request and notes that it was given.
func (g *Gateway) tell(ctx context.Context, r approvals.Request) error {
	if err := g.Approvals.Told(ctx, r.ID); err != nil {
		return err
	}
	return &EndedError{Request: r}
}

func (g *Gateway) required(ctx context.Context, r approvals.Request) error {
	r, err := approvals.Lookup(ctx, g.Pool, r.ID)
	if err != nil {
		return err
	}
	reached, err := approvals.Reached(ctx, g.Pool, r)
	if err != nil {
		return err
	}
	return &ApprovalRequiredError{
		AgentID: r.AgentID, RequestID: r.ID, ShortID: r.ShortID, Resource: r.Resource(), Status: r.Status,
		ExpiresAt: r.ExpiresAt, Executing: r.Executing(), Changed: r.Settings.Changed,
		Reached: reached, Undelivered: r.Status == approvals.Pending && r.UndeliveredAt != nil,
	}
}

func (g *Gateway) requesterName(ctx context.Context, c identity.Caller) string {
	if c.UserID == "" {
		return "agent " + c.AgentID
	}
	name, err := identity.UserName(ctx, g.Pool, c.UserID)
	if err != nil {
		return c.UserID
	}
	return name
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
