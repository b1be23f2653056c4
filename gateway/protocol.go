package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
)

// protocolHandlers make the SDK's handlers for both eras over one server
// without registered tools, whose middleware owns tools/list and tools/call.
func (g *Gateway) protocolHandlers() (stateful, stateless http.Handler) {
	server := mcp.NewServer(g.serverInfo(), &mcp.ServerOptions{
		Instructions: "Tools behind Holm. A call may wait for a person's approval; call again with the same arguments to get its answer, or wait for it with approval_wait.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
			// The SDK calls this in a goroutine of its own.
			defer func() {
				if caught.Is(err) {
					err = &jsonrpc.Error{Code: errFailed.Code, Message: errFailed.Message}
				}
			}()
			defer caught.Err(g.Log, "mcp "+method, &err)
			switch method {
			case "tools/list":
				return g.listTools(ctx, req)
			case "tools/call":
				return g.callTool(ctx, req)
			}
			return next(ctx, method, req)
		}
	})
	get := func(*http.Request) *mcp.Server { return server }
	stateful = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true, // the HTTP server checks Host for all paths
	})
	stateless = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
	})
	return stateful, stateless
}

// rawResult travels as the very bytes it holds.
type rawResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// MarshalJSON gives the bytes.
func (r *rawResult) MarshalJSON() ([]byte, error) { return r.raw, nil }

var errNoExchange = &jsonrpc.Error{Code: codeInternal, Message: "the request has no exchange"}

// exchangeOf finds the POST a message came with.
func (g *Gateway) exchangeOf(req mcp.Request) (*exchange, error) {
	if extra := req.GetExtra(); extra != nil {
		if x := g.exchanges.get(extra.Header.Get(exchangeHeader)); x != nil {
			return x, nil
		}
	}
	return nil, errNoExchange
}

func (g *Gateway) listTools(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	x, err := g.exchangeOf(req)
	if err != nil {
		return nil, err
	}
	caller, _, err := g.acting(ctx, x)
	if err != nil {
		return nil, toWire(err)
	}
	p, err := identity.PrincipalOf(ctx, g.Pool, caller)
	if err != nil {
		return nil, toWire(err)
	}
	s, err := g.catalogue.list(ctx, p)
	if err != nil {
		return nil, toWire(err)
	}
	var b bytes.Buffer
	b.WriteString(`{"tools":`)
	b.Write(s.list)
	if x.modern() {
		// Lists depend on the caller, and policy may change at any time.
		b.WriteString(`,"resultType":"complete","ttlMs":0,"cacheScope":"private"`)
	}
	b.WriteByte('}')
	return &rawResult{raw: b.Bytes()}, nil
}

func (g *Gateway) callTool(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	x, err := g.exchangeOf(req)
	if err != nil {
		return nil, err
	}
	var name string
	if err := json.Unmarshal(x.message.Params["name"], &name); err != nil {
		return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: "params.name must be a string"}
	}
	ctx = audit.WithTrace(ctx, x.traceParent())
	caller, where, err := g.acting(ctx, x)
	if err != nil {
		return nil, toWire(err)
	}
	c := g.toolCall(x, caller, where, name)
	if !caller.OnBehalf { // a dialog there would be answered by the program
		c.elicit = elicitor(x, req)
	}
	e, result, err := g.call(ctx, c)
	if err != nil {
		told, wire := answer(e, err)
		if wire != nil {
			g.logInternal(x, wire, err)
			return nil, &jsonrpc.Error{Code: wire.Code, Message: wire.Message, Data: wire.Data}
		}
		result = told
	}
	if x.modern() {
		result = withResultType(result)
	}
	return &rawResult{raw: result}, nil
}

// toolCall describes an exchange's call to the gate.
func (g *Gateway) toolCall(x *exchange, caller identity.Caller, where session.Session, name string) *toolCall {
	c := &toolCall{
		id: uuid.Must(uuid.NewV7()).String(), caller: caller, session: where, name: name,
		args: x.message.Params["arguments"], meta: x.message.Params["_meta"],
		hold: g.holdOf(x), gone: x.request.Context().Done(),
		reprove: func(ctx context.Context) error { return g.reprove(ctx, x, caller) },
		wait: func(now func() *approvals.Request) func() {
			began := time.Now()
			return x.keepAlive(func() string { return waiting(now(), time.Since(began)) })
		},
	}
	if x.token() != nil {
		c.progress = x.relayProgress
	}
	return c
}

// waiting is what a caller who waits is told meanwhile.
func waiting(r *approvals.Request, since time.Duration) string {
	text := "waiting for approval of request " + strconv.Itoa(r.ShortID) + " since " + since.Round(time.Second).String()
	if r.Status == approvals.Pending && r.UndeliveredAt != nil {
		text += "; undelivered: nobody who may answer could be reached so far"
	}
	return text
}

// holmSession is the session that events of this exchange belong to: the
// stateful connection, or what all sessionless calls of a key share.
func (x *exchange) holmSession() session.Session {
	s := session.Session{AgentID: x.caller.AgentID, RequesterID: x.caller.RequesterID(), KeyPrefix: x.caller.KeyPrefix}
	if x.sessionID != "" {
		s.ID, s.Kind = "mcp:"+x.sessionID, session.MCP
		return s
	}
	s.ID, s.Kind = "key:"+x.caller.KeyPrefix, session.Key
	return s
}

// traceParent is what the client says of the trace its call belongs to: in the
// message, as MCP has it, or in the W3C header.
func (x *exchange) traceParent() string {
	var inMessage string
	_ = json.Unmarshal(x.message.Meta["traceparent"], &inMessage) // an odd one is as good as none
	return cmp.Or(inMessage, x.request.Header.Get("Traceparent"))
}

func (x *exchange) modern() bool { return x.request.Header.Get(versionHeader) >= modernVersion }

// holdOf is how long this call may wait: what the client says, else what its
// name tells, else the default.
func (g *Gateway) holdOf(x *exchange) time.Duration {
	if d, err := time.ParseDuration(x.request.Header.Get(holdHeader)); err == nil && d >= 0 {
		return min(d, maxHold)
	}
	return g.holdFor(x.client)
}

// withResultType adds the member that protocol 2026-07-28 requires, unless the
// upstream has sent it.
func withResultType(raw json.RawMessage) json.RawMessage {
	if _, ok := object(raw)["resultType"]; ok {
		return raw
	}
	trimmed := bytes.TrimSpace(raw)
	comma := ","
	if rest := bytes.TrimSpace(trimmed[1:]); rest[0] == '}' {
		comma = ""
	}
	return append([]byte(`{"resultType":"complete"`+comma), trimmed[1:]...)
}

func toWire(err error) error {
	_, wire := answer(nil, err)
	return &jsonrpc.Error{Code: wire.Code, Message: wire.Message}
}

// logInternal reports what the caller is not told.
func (g *Gateway) logInternal(x *exchange, wire *wireError, err error) {
	if _, told := fault.As(err); told || db.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return // told in words, and logged where it began
	}
	if wire.Code == codeInternal {
		g.Log.Error("a call failed inside", "agent_id", x.caller.AgentID, "error", err)
	}
}
