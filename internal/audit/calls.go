package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
)

// Status is what became of a call, in the words of holm log.
type Status string

const (
	// Allowed: it was let through and has succeeded, as far as is known.
	Allowed Status = "allowed"
	// Denied: policy or a person refused it, or nobody answered.
	Denied Status = "denied"
	// Failed: it was let through and failed, or its outcome is lost.
	Failed Status = "error"
	// Asked: a person was asked.
	Asked Status = "approval"
	// Unfinished: it was let through and nothing is recorded of its end: it
	// runs, or its process died.
	Unfinished Status = "unfinished"
)

// Call is a line of the log of calls. One call may have several: that a person
// was asked, and what came of it.
type Call struct {
	// Seq is that of the record it is made of.
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	AgentID string    `json:"agentId"`
	Actor   string    `json:"actor"`
	Server  string    `json:"server,omitempty"`
	// Tool is the tool's own name on its server; a file or command is itself.
	Tool   string `json:"tool"`
	Status Status `json:"status"`
	// Why says more: an outcome, how a question ended, a failure.
	Why string `json:"why,omitempty"`
	// MS is how long it ran, where that was measured.
	MS *int64 `json:"ms,omitempty"`
	// RuleID is the rule that decided; empty for a default.
	RuleID    string `json:"ruleId,omitempty"`
	CallID    string `json:"callId,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	ShortID   int    `json:"shortId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	TraceID   string `json:"traceId,omitempty"`
}

// CallFilter narrows Calls; empty fields do not.
type CallFilter struct {
	AgentID, Server string
	Status          Status
	Limit           int
}

func (f CallFilter) takes(c Call) bool {
	return (f.Server == "" || f.Server == c.Server) && (f.Status == "" || f.Status == c.Status)
}

// LastCalls gives the newest calls, the newest last, and the seq after which
// CallsAfter goes on.
func LastCalls(ctx context.Context, q db.Queryer, f CallFilter) (calls []Call, next int64, err error) {
	if next, err = headSeq(ctx, q); err != nil {
		return nil, 0, err
	}
	// The end of a call stands behind its decision, so on the way back it is met
	// first.
	completed := map[string]bool{}
	for before := next + 1; ; {
		page, err := callRecords(ctx, q, f.AgentID, `seq < $1`, `seq DESC`, before)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range page {
			before = e.Seq
			call, kind, ok := e.call()
			switch {
			case kind == completedCall:
				completed[call.CallID] = true
			case kind == allowedCall:
				ok = !completed[call.CallID]
				delete(completed, call.CallID)
			}
			if ok && f.takes(call) {
				calls = append(calls, call)
			}
			if len(calls) == f.Limit {
				slices.Reverse(calls)
				return calls, next, nil
			}
		}
		if len(page) < callPage {
			slices.Reverse(calls)
			return calls, next, nil
		}
	}
}

// CallsAfter gives the calls recorded after a seq, the newest last, and the seq
// after which the next look goes on. What only begins is left to its end.
func CallsAfter(ctx context.Context, q db.Queryer, after int64, f CallFilter) (calls []Call, next int64, err error) {
	for next = after; ; {
		page, err := callRecords(ctx, q, f.AgentID, `seq > $1`, `seq`, next)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range page {
			next = e.Seq
			if call, kind, ok := e.call(); ok && kind != allowedCall && f.takes(call) {
				calls = append(calls, call)
			}
			if len(calls) == f.Limit {
				return calls, next, nil
			}
		}
		if len(page) < callPage {
			return calls, next, nil
		}
	}
}

func headSeq(ctx context.Context, q db.Queryer) (seq int64, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE(max(seq), 0) FROM audit_log`).Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("read audit log: %w", err)
	}
	return seq, nil
}

// callPage is how many records are read at once.
const callPage = 500

// callRecords reads records of calls; the kinds are those of the index
// audit_log_calls.
func callRecords(ctx context.Context, q db.Queryer, agentID, where, order string, seq int64) ([]Entry, error) {
	args := []any{seq, callPage}
	if agentID != "" {
		where += ` AND agent_id = $3`
		args = append(args, agentID)
	}
	rows, err := q.Query(ctx, `
		SELECT seq, at, kind, agent_id, actor, data, ''::bytea, ''::bytea
		FROM audit_log
		WHERE `+where+`
		  AND kind IN ('call_decided', 'call_completed', 'call_finished', 'approval_requested',
		               'approval_rejected', 'approval_expired', 'approval_cancelled')
		ORDER BY `+order+`
		LIMIT $2`, args...)
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
}

// callKind tells apart what needs more than the record itself.
type callKind int

const (
	otherCall callKind = iota
	// allowedCall was let through; its end has a record of its own.
	allowedCall
	// completedCall is such an end.
	completedCall
)

// callData are the members of the records that a line is made of.
type callData struct {
	CallID    string `json:"callId"`
	RequestID string `json:"requestId"`
	ShortID   int    `json:"shortId"`
	SessionID string `json:"sessionId"`
	TraceID   string `json:"traceId"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	// ResourceType tells files and commands, which are shown instead of the tool.
	ResourceType string `json:"resourceType"`
	ResourceKey  string `json:"resourceKey"`
	Decision     string `json:"decision"`
	Step         string `json:"step"`
	RuleID       string `json:"ruleId"`
	Outcome      string `json:"outcome"`
	Error        string `json:"error"`
	Via          string `json:"via"`
	MS           *int64 `json:"ms"`
}

// call makes the line of a record; ok is false where another record of the same
// call has it.
func (e Entry) call() (c Call, kind callKind, ok bool) {
	var d callData
	if json.Unmarshal([]byte(e.Data), &d) != nil {
		return c, otherCall, false
	}
	c = Call{
		Seq: e.Seq, At: e.At.UTC(), AgentID: e.AgentID, Actor: e.Actor, RuleID: d.RuleID, CallID: d.CallID,
		RequestID: d.RequestID, ShortID: d.ShortID, SessionID: d.SessionID, TraceID: d.TraceID, MS: d.MS,
	}
	c.Server, c.Tool = d.Server, d.Tool
	switch {
	case d.ResourceType == "file" || d.ResourceType == "exec":
		c.Tool = d.ResourceKey
	case c.Tool == "":
		c.Server, c.Tool = splitKey(d.ResourceKey)
	}
	switch e.Kind {
	case "call_decided":
		return c.decided(d)
	case "approval_requested":
		c.Status, c.Why = Asked, "a person was asked"
	case "call_completed", "call_finished":
		if e.Kind == "call_completed" {
			kind = completedCall
		}
		c.Status = Allowed
		if d.Outcome != "succeeded" {
			c.Status, c.Why = Failed, strings.ReplaceAll(d.Outcome, "_", " ")
		}
		if d.Error != "" {
			c.Why = strings.ReplaceAll(d.Error, "_", " ")
		}
	default:
		c.Status, c.Why = Denied, strings.TrimPrefix(e.Kind, "approval_")
	}
	return c, kind, true
}

func (c Call) decided(d callData) (Call, callKind, bool) {
	switch {
	case d.Decision == "deny":
		c.Status, c.Why = Denied, strings.ReplaceAll(d.Step, "_", " ")
		return c, otherCall, true
	case d.Decision != "allow":
		return c, otherCall, false
	case d.Via != "":
		// Who asked runs it; nothing is known of its end.
		c.Status = Allowed
		return c, otherCall, true
	}
	c.Status = Unfinished
	return c, allowedCall, true
}

// splitKey takes the policy resource of a server's tool apart.
func splitKey(key string) (server, tool string) {
	rest, ok := strings.CutPrefix(key, "mcp__")
	server, tool, named := strings.Cut(rest, "__")
	if !ok || !named {
		return "", key
	}
	return server, tool
}
