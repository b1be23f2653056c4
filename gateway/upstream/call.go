package upstream

import (
	"context"
	"encoding/json"
)

// CallRequest is one call of a tool.
type CallRequest struct {
	// Tool is the upstream's own name of the tool.
	Tool string
	// Arguments is a JSON object and is sent as the bytes it is; absent or
	// null is sent as {}. On stdio line ends between tokens become blanks.
	Arguments json.RawMessage
	// Meta is the caller's _meta object, may be nil. All members go on but
	// those that speak of one hop only: the progress token, and the protocol
	// version, client info and client capabilities of protocol 2026-07-28.
	Meta json.RawMessage
	// Extra is an object of further members of params, may be nil, such as
	// inputResponses and requestState.
	Extra json.RawMessage
	// OnProgress, if set, makes the server report progress. It gets the raw
	// parameters without the progress token, which is of this hop only. Each
	// report gives the call its CallTimeout anew, up to Config.MaxCallTime.
	OnProgress func(params json.RawMessage)
	// OnLog, if set, gets the raw parameters of log messages that belong to
	// this call for certain. Both are called one at a time, never after Call
	// has returned, and must not block for long.
	OnLog func(params json.RawMessage)
}

// Call runs a tool and returns the raw result object, byte-exact. It waits for
// one of the server's MaxConcurrent places for as long as ctx allows.
//
// Errors: *InputError and *UnavailableError (nothing was sent), *RPCError (the
// server said no), *ResultError (it answered, unusably), *LostError (it may
// have run; never sent twice). When ctx ends the server is told, and the error
// wraps the cause of ctx.
func (c *Client) Call(ctx context.Context, req CallRequest) (json.RawMessage, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	result, err := c.do(ctx, func(s *session, patience *patience) *flight {
		f := newFlight(methodCall, nil)
		f.name = req.Tool
		f.params = req.params(f, s.hop)
		f.onEvent = hearer(req.OnProgress, req.OnLog, patience)
		if s.hop != nil {
			f.headers = c.paramHeaders(req)
		}
		return f
	})
	if err != nil {
		return nil, err
	}
	if !saysSomething(result) {
		return nil, &ResultError{c.server.Name, "its result is empty"}
	}
	return result, nil
}

// saysSomething is false for results without anything a tool could have said,
// which some servers give for sessions they have forgotten.
func saysSomething(result json.RawMessage) bool {
	says := false
	_ = members(result, func(key string, value json.RawMessage) {
		switch key {
		case "content", "structuredContent", "toolResult", "task", "resultType":
			says = says || !isNull(value)
		}
	})
	return says
}
