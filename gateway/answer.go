package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holm/approvals"
	"holm/gateway/upstream"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/session"
	"holm/internal/stamp"
)

// wireError is a JSON-RPC error; answer gives one where a tool result would
// be the wrong form.
type wireError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *wireError) Error() string { return e.Message }

// codeInvalidParams is JSON-RPC's code for unknown tools and bad arguments,
// codeInternal for failures of Holm itself.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// errFailed is the answer to a panic.
var errFailed = &wireError{Code: codeInternal, Message: "internal error: Holm failed, and its log says why. What became of this call is not known."}

// noWorkaround ends every text about an approval: silence and refusal are
// answers, and no reason to try another way.
const noWorkaround = "Do not try to reach the same effect in another way."

// retryAfter is when it makes sense to call again, in seconds.
const retryAfter = 15

// answer turns every failure of a call into what its caller is told: the one
// table of this edge. e may be nil.
func answer(e *entry, err error) (json.RawMessage, *wireError) {
	var (
		unknown     *UnknownToolError
		arguments   *ArgumentsError
		denied      *DeniedError
		required    *ApprovalRequiredError
		ended       *EndedError
		unavailable *UnavailableError
		rpc         *upstream.RPCError
		lost        *upstream.LostError
		odd         *upstream.ResultError
	)
	switch {
	case errors.As(err, &unknown):
		return nil, &wireError{Code: codeInvalidParams, Message: fmt.Sprintf("Unknown tool: %q", unknown.Name)}
	case errors.As(err, &arguments):
		return nil, &wireError{Code: codeInvalidParams, Message: arguments.Error()}
	case errors.As(err, &denied):
		return errorResult(e, fmt.Sprintf("Denied by policy: %s. %s", denied.Rule, noWorkaround),
			map[string]any{"error_type": "AUTHORIZATION_DENIED", "code": codeDenied, "rule": denied.Rule}), nil
	case errors.As(err, &required):
		return pendingResult(e, required), nil
	case errors.As(err, &ended):
		return endedResult(e, ended.Request), nil
	case approvals.IsCapped(err):
		return cappedResult(e, err), nil
	case errors.As(err, &unavailable):
		return unavailableResult(e, unavailable), nil
	case errors.As(err, &rpc):
		return nil, &wireError{Code: rpc.Code, Message: rpc.Message, Data: rpc.Data}
	case errors.As(err, &lost):
		return errorResult(e, "The connection to the server was lost after the call had been sent. It may or may not have been executed; check before calling again.",
			map[string]any{"error_type": "OUTCOME_UNKNOWN", "code": codeLost, "retryable": false}), nil
	case errors.As(err, &odd):
		return errorResult(e, "The server executed the call but gave an answer that cannot be used: "+odd.Reason,
			map[string]any{"error_type": "BAD_RESULT", "code": codeLost, "retryable": false}), nil
	case fault.Is(err, session.CodeNoSession):
		return nil, &wireError{Code: codeInvalidRequest, Message: holmSessionHeader + ": " + err.Error() + ". Nothing was executed."}
	case db.IsUnavailable(err):
		return nil, &wireError{Code: codeInternal, Message: "Holm's database is not available, and this attempt executed nothing. " +
			"Call again later with the same arguments: what was asked, approved or executed before is kept."}
	case errors.Is(err, context.Canceled):
		return nil, &wireError{Code: codeInternal, Message: "The call was cancelled; this attempt executed nothing."}
	}
	if f, ok := fault.As(err); ok {
		return nil, &wireError{Code: codeInternal, Message: f.Message}
	}
	return nil, &wireError{Code: codeInternal, Message: "internal error; nothing is known to have been executed"}
}

// unavailableResult tells a server that is away from one that refuses: that
// needs somebody to change something.
func unavailableResult(e *entry, u *UnavailableError) json.RawMessage {
	retryable, text := true, "The call may be made again later."
	var down *upstream.UnavailableError
	if errors.As(u, &down) && !down.Retryable {
		retryable, text = false, "Calling again makes no sense before an operator has looked at the server."
	}
	return errorResult(e, fmt.Sprintf("Server %s is not available now; nothing was executed. %s", u.Server, text),
		map[string]any{"error_type": "SERVER_UNAVAILABLE", "code": codeUnavailable, "retryable": retryable, "server": u.Server})
}

func pendingResult(e *entry, r *ApprovalRequiredError) json.RawMessage {
	text := fmt.Sprintf("Approval required: request %d for %s waits for an owner's decision until %s. "+
		"Call this tool again with the same arguments to get the answer; after approval it runs once. "+
		"To wait for the answer call approval_wait, to look at it approval_status, with the request %d. "+
		"Silence is not consent. %s", r.ShortID, r.Resource, stamp.Minute(r.ExpiresAt), r.ShortID, noWorkaround)
	if !r.Reached {
		text += fmt.Sprintf(" Nobody who may answer can be reached by chat at the moment; an operator can answer with: "+
			"holm approvals approve %d --agent %s", r.ShortID, r.AgentID)
	}
	kind := "APPROVAL_REQUIRED"
	if r.Undelivered {
		kind = "APPROVAL_UNDELIVERED"
		text = fmt.Sprintf("Undelivered: request %d for %s needs an owner's decision, and nobody could be reached so far. It stays open until %s; "+
			"an operator can answer with: holm approvals approve %d --agent %s. Call this tool again with the same arguments later to get the answer; "+
			"to wait for it call approval_wait, to look at it approval_status, with the request %d. Silence is not consent. %s",
			r.ShortID, r.Resource, stamp.Minute(r.ExpiresAt), r.ShortID, r.AgentID, r.ShortID, noWorkaround)
	}
	if r.Executing {
		text = fmt.Sprintf("Request %d for %s is approved and the call is running now. "+
			"Call this tool again with the same arguments to get its result; it will not run twice.", r.ShortID, r.Resource)
	}
	structured := map[string]any{
		"error_type": kind, "code": codeApproval,
		"request_id": r.RequestID, "short_id": r.ShortID, "status": r.Status,
		"expires_at": r.ExpiresAt.UTC().Format(time.RFC3339), "retry_after": retryAfter,
	}
	if r.Changed != "" {
		text += fmt.Sprintf(" It is asked because %s.", r.Changed)
		structured["changed"] = r.Changed
	}
	return errorResult(e, text, structured)
}

// cappedResult tells a caller that too much of theirs waits already, or came
// within a minute. That is no rejection: nobody was asked.
func cappedResult(e *entry, err error) json.RawMessage {
	capped, _ := fault.As(err)
	text := fmt.Sprintf("Too many questions are open: %s. Nobody was asked about this call, and it was not executed. "+
		"Stop and wait until what you have asked for is answered; call again then. Silence is not consent. %s", capped.Message, noWorkaround)
	after := retryAfter
	if approvals.IsTooFast(err) {
		after = 60
		text = fmt.Sprintf("Too many questions within a minute: %s. Nobody was asked about this call, and it was not executed. "+
			"Stop asking; call again in a minute if the call is still wanted. Silence is not consent. %s", capped.Message, noWorkaround)
	}
	return errorResult(e, text, map[string]any{
		"error_type": "APPROVAL_CAPPED", "code": codeApproval, "retryable": true, "retry_after": after, "limit": capped.Data,
	})
}

// endedResult has a text for each end; none stands for another.
func endedResult(e *entry, r approvals.Request) json.RawMessage {
	kind, text := "", ""
	switch {
	case r.Status == approvals.Rejected:
		kind = "APPROVAL_REJECTED"
		text = rejectedText(r)
	case r.Status == approvals.Expired:
		kind = "APPROVAL_EXPIRED"
		text = fmt.Sprintf("Expired: nobody answered request %d for %s by %s, and nothing was executed. "+
			"Silence is not consent. Ask again only if the call is still wanted. %s", r.ShortID, r.Resource(), stamp.Minute(r.ExpiresAt), noWorkaround)
	case r.Status == approvals.Cancelled:
		kind = "APPROVAL_CANCELLED"
		text = fmt.Sprintf("Cancelled: request %d for %s was withdrawn by %s, and nothing was executed.", r.ShortID, r.Resource(), deref(r.ResolvedName, "its requester"))
		if r.Reason != nil {
			text += fmt.Sprintf(" Reason: %q.", *r.Reason)
		}
		text += " Ask again only if the call is wanted after all. " + noWorkaround
	default:
		kind = "OUTCOME_UNKNOWN"
		text = fmt.Sprintf("Request %d for %s was approved and sent, but its outcome was lost. "+
			"It may or may not have been executed, and it is not sent again by itself; check before asking again. "+
			"Silence is not consent to send it twice. %s", r.ShortID, r.Resource(), noWorkaround)
	}
	structured := map[string]any{"error_type": kind, "code": codeApproval,
		"request_id": r.ID, "short_id": r.ShortID, "status": r.Status, "retryable": false}
	if r.Reason != nil {
		structured["reason"] = *r.Reason
	}
	if r.TryDifferently {
		structured["try_differently"] = true
	}
	return errorResult(e, text, structured)
}

// rejectedText tells a rejection for good from one that invites another proposal.
func rejectedText(r approvals.Request) string {
	text := fmt.Sprintf("Rejected: %s rejected request %d for %s.", deref(r.ResolvedName, "an owner"), r.ShortID, r.Resource())
	if r.TryDifferently {
		text += " A retry with the same arguments makes no sense; the reviewer asks to try it differently"
		if r.Reason != nil {
			text += fmt.Sprintf(": %q", *r.Reason)
		}
		return text + ". A changed call is a new question. " +
			"Unless you have changed it as asked, do not try again. " + noWorkaround
	}
	if r.Reason != nil {
		text += fmt.Sprintf(" Reason: %q.", *r.Reason)
	}
	return text + " Do not try again: calling again makes no sense. " + noWorkaround
}

func deref(s *string, fallback string) string {
	if s == nil {
		return fallback
	}
	return *s
}
