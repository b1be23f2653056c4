package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/stamp"
	"holm/policy"
)

// maxAskedArgs is the largest call that is put into a client's dialog: nobody
// should agree to what they cannot read. Larger ones go to the owners' cards.
const maxAskedArgs = 8 << 10

// askable gives how long the caller is asked about the call in their own
// session first: not at all, unless they own the agent, the rule lets one owner
// decide without a reason, and their client can ask.
func (g *Gateway) askable(c *toolCall, j *judgement) time.Duration {
	settings := policy.Strictest(j.asking())
	switch {
	case c.elicit == nil, c.caller.UserID == "", j.request.Principal.Role != policy.Owner, len(c.args) > maxAskedArgs:
		return 0
	case settings != nil && (settings.Needed() > 1 || settings.RequireReason || len(settings.Approvers) > 0 || len(settings.Merged) > 0):
		return 0
	}
	return g.Realtime
}

// askInPlace asks the caller about r in a dialog of their client, if r is to be
// asked so. It comes back with r decided, by the caller or by somebody else
// meanwhile, or handed over to the owners: a dialog that is dismissed, fails, or
// gets no answer in time or none that was offered decides nothing.
func (g *Gateway) askInPlace(ctx context.Context, c *toolCall, r approvals.Request) (approvals.Request, error) {
	if r.Mode != approvals.Realtime || r.Status != approvals.Pending || c.elicit == nil {
		return r, nil
	}
	answer := g.elicited(ctx, c, r)
	if answer != nil && c.reprove(ctx) == nil {
		decided, err := g.decideInPlace(ctx, c, r, *answer)
		if _, refused := fault.As(err); err == nil || !refused {
			return decided, err
		}
	}
	return g.Approvals.EndRealtime(context.WithoutCancel(ctx), r.ID)
}

// elicited shows the dialog until it is answered, its time is over, the caller
// or this process leaves, or the request is decided elsewhere. It gives nil
// where nothing was decided by it.
func (g *Gateway) elicited(ctx context.Context, c *toolCall, r approvals.Request) *approvals.Decision {
	if !g.holds.enter(c.caller.KeyPrefix) {
		return nil
	}
	defer g.holds.leave(c.caller.KeyPrefix)
	waiter := g.Hub.Wait(approvals.Key(r.ID))
	defer waiter.Close()
	defer c.wait(func() *approvals.Request { return &r })()
	ctx, cancel := context.WithTimeout(ctx, r.CreatedAt.Add(g.Realtime).Sub(r.ReadAt)) // both by the database's clock
	answer := make(chan *approvals.Decision, 1)
	go func() {
		result, err := caught.Do(g.Log, "dialog", func() (*mcp.ElicitResult, error) { return c.elicit(ctx, dialog(r)) })
		if err != nil {
			result = nil
		}
		answer <- decisionOf(r, result)
	}()
	defer func() { cancel(); <-answer }()
	for {
		select {
		case d := <-answer:
			answer <- nil // for the function that joins the dialog
			return d
		case <-waiter.C:
		case <-time.After(rereadEvery):
		case <-g.closing:
			return nil
		case <-c.gone:
			return nil
		case <-ctx.Done():
			return nil
		}
		now, err := approvals.Lookup(ctx, g.Pool, r.ID)
		if err == nil && (now.Status != approvals.Pending || now.Mode != approvals.Realtime) {
			return nil
		}
		if err != nil && !db.IsUnavailable(err) {
			return nil
		}
	}
}

// decideInPlace makes the answer a decision of the person the key is bound to.
func (g *Gateway) decideInPlace(ctx context.Context, c *toolCall, r approvals.Request, d approvals.Decision) (approvals.Request, error) {
	d.AgentID, d.RequestID = r.AgentID, r.ID
	d.Actor = approvals.Actor{UserID: c.caller.UserID, Name: g.requesterName(ctx, c.caller), Via: "mcp"}
	return g.Approvals.Decide(ctx, d)
}

// decisionOf reads the answer to a dialog; nil when it decides nothing.
func decisionOf(r approvals.Request, answer *mcp.ElicitResult) *approvals.Decision {
	switch {
	case answer == nil:
		return nil
	case answer.Action == "decline":
		return &approvals.Decision{}
	case answer.Action != "accept":
		return nil
	}
	chosen, _ := answer.Content["decision"].(string)
	for _, offered := range r.Settings.Resolutions {
		if chosen == string(offered) {
			return &approvals.Decision{Approve: true, Resolution: offered}
		}
	}
	return nil
}

// dialog puts the request as a form with the choices that its rule offers.
func dialog(r approvals.Request) *mcp.ElicitParams {
	var choices, names []string
	for _, offered := range r.Settings.Resolutions {
		choices = append(choices, string(offered))
		names = append(names, map[policy.Resolution]string{
			policy.Single:     "Approve this call",
			policy.Once:       fmt.Sprintf("Approve for %d min", r.TTLMinutes),
			policy.Persistent: "Always allow this tool, with any arguments",
		}[offered])
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: question(r),
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{"decision"},
			"properties": map[string]any{"decision": map[string]any{
				"type": "string", "title": "Decision", "description": "Decline to reject the call.", "enum": choices, "enumNames": names,
			}},
		},
	}
}

// question is the whole call in words, as a card shows it: secrets hidden, and
// nothing in it that hides itself.
func question(r approvals.Request) string {
	var args bytes.Buffer
	if shown := r.Shown(); json.Indent(&args, shown, "", "  ") != nil {
		args.Write(shown)
	}
	return fmt.Sprintf("Request %d of agent %s needs your approval.\n\nTool: %s\nWhy: %s\nArguments:\n%s\n\nOpen until %s · %s",
		r.ShortID, r.AgentID, visible(r.Resource()), visible(r.RuleText), visible(args.String()), stamp.Minute(r.ExpiresAt), r.ArgsDigest[:8])
}

// visible shows what a terminal or a page would hide or obey.
func visible(text string) string {
	var b strings.Builder
	for _, c := range text {
		if unicode.IsPrint(c) || c == '\n' {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "U+%04X", c)
		}
	}
	return b.String()
}

// elicitor gives the way to ask in the client's own dialog, nil where there is
// none: to clients without sessions no question can be sent while a call is
// held, and not every other has declared that it shows forms.
func elicitor(x *exchange, req mcp.Request) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	s, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || x.modern() {
		return nil
	}
	p := s.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return nil
	}
	if e := p.Capabilities.Elicitation; e.Form == nil && e.URL != nil {
		return nil
	}
	return func(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		result, err := s.Elicit(ctx, params)
		if err == nil && result == nil {
			err = errors.New("an empty answer")
		}
		return result, err
	}
}
