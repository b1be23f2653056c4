package bot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// shop is a Runner with three tools: list runs, refund asks, and text gives a
// long text. It keeps the rules of the gate: a claim, then Sending, then once.
type shop struct {
	svc  *approvals.Service
	pool *pgxpool.Pool

	mu  sync.Mutex
	ran []string
	// waited is what the last call had waited for.
	waited string
	// during is called while a tool runs, without the lock.
	during func(tool string)
	// explode makes the list of tools panic.
	explode bool
}

var _ bot.Runner = (*shop)(nil)

func (s *shop) Tools(_ context.Context, agentID, _ string) ([]bot.Tool, error) {
	if s.explode {
		panic("a fuse")
	}
	tool := func(name, schema string, decision policy.Effect) bot.Tool {
		return bot.Tool{Name: "mcp__shop__" + name, Short: name, Server: "shop", Description: "Does " + name + " for " + agentID + ".",
			Schema: json.RawMessage(schema), Decision: decision}
	}
	return []bot.Tool{
		tool("list", `{"type":"object","properties":{"max":{"type":"integer"},"all":{"type":"boolean"},"tags":{"type":"array"},"note":{"type":["string","null"]}}}`, policy.Allow),
		tool("refund", `{"type":"object","properties":{"order":{"type":"string"},"amount":{"type":"number"}},"required":["order"]}`, policy.RequireApproval),
		tool("text", `{"properties":{"n":{}}}`, ""),
	}, nil
}

func (s *shop) Call(ctx context.Context, c bot.ToolCall) (bot.ToolAnswer, error) {
	s.mu.Lock()
	s.waited = c.Waited
	s.mu.Unlock()
	if !strings.HasSuffix(c.Tool, "refund") {
		if err := c.Sending(ctx, ""); err != nil {
			return bot.ToolAnswer{}, err
		}
		return bot.ToolAnswer{Result: s.run(c)}, nil
	}
	args, err := policy.ParseArgs(c.Args)
	if err != nil {
		return bot.ToolAnswer{}, err
	}
	call := approvals.Call{
		Session: c.Session, RequesterName: "someone", ResourceType: "tool", ResourceKey: c.Tool, Args: args,
		Rule: policy.Row{ID: "rule", AgentID: c.Session.AgentID, ResourceType: "tool", ResourceKey: c.Tool, Version: 1, Effect: policy.RequireApproval},
	}
	r, err := s.svc.Ask(ctx, call)
	switch {
	case err != nil:
		return bot.ToolAnswer{}, err
	case r.Status == approvals.Pending, r.Executing():
		return bot.ToolAnswer{Waits: r.ID}, nil
	case !r.Unclaimed():
		return bot.ToolAnswer{Ended: &r}, nil
	}
	if _, ok, err := s.svc.Claim(ctx, r, call); err != nil || !ok {
		return bot.ToolAnswer{Waits: r.ID}, err
	}
	if err := c.Sending(ctx, r.ID); err != nil {
		return bot.ToolAnswer{}, err
	}
	result := s.run(c)
	return bot.ToolAnswer{Result: result}, s.svc.Finish(ctx, r.ID, approvals.Succeeded, nil)
}

func (s *shop) run(c bot.ToolCall) json.RawMessage {
	s.mu.Lock()
	s.ran = append(s.ran, fmt.Sprintf("%s %s by %s", c.Tool, c.Args, c.Session.RequesterID))
	during := s.during
	s.mu.Unlock()
	if during != nil {
		during(c.Tool)
	}
	if strings.HasSuffix(c.Tool, "text") {
		var a struct{ N int }
		_ = json.Unmarshal(c.Args, &a)
		return must(json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": strings.Repeat("word ", a.N) + "end"}}}))
	}
	return must(json.Marshal(map[string]any{"content": []any{
		map[string]any{"type": "text", "text": "done: " + strings.ReplaceAll(string(c.Args), `"`, "'")},
		map[string]any{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
	}}))
}

func (s *shop) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.ran...)
}

// shopTools are those of the shop as policy names them.
func shopTools(context.Context) (all []policy.ToolInfo) {
	for _, name := range []string{"list", "refund", "text"} {
		all = append(all, policy.ToolInfo{Tool: policy.Tool{Name: "mcp__shop__" + name, Server: "shop"}})
	}
	return all
}
