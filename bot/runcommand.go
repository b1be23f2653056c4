package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/redact"
	"holm/internal/session"
	"holm/internal/spelling"
	"holm/policy"
)

// maxDescription is how much of a tool's description a list shows.
const maxDescription = 100

// tools lists what the person may call, or one tool with its arguments.
func (b *Bot) tools(ctx context.Context, l line) (string, error) {
	agentID, all, err := b.toolsOf(ctx, l)
	if err != nil {
		return "", err
	}
	if len(l.words) > 0 {
		t, err := toolNamed(all, l.words[0])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s%s\n%s\nrun %s %s", oneLine(t.Name, maxKey), mark(t), oneLine(t.Description, 3*maxText),
			oneLine(t.Name, maxKey), readSchema(t.Schema)), nil
	}
	if len(all) == 0 {
		return fmt.Sprintf("You may call no tools of agent %s now.", agentID), nil
	}
	lines := []string{fmt.Sprintf("Tools that you may call for agent %s:", agentID)}
	for _, t := range all {
		line := oneLine(t.Name, maxKey) + mark(t)
		if t.Description != "" {
			line += ": " + oneLine(t.Description, maxDescription)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// mark says where a person has to approve.
func mark(t Tool) string {
	switch t.Decision {
	case policy.Allow:
		return ""
	case policy.RequireApproval:
		return " 🔐 needs approval"
	}
	return " (depends on the arguments)"
}

func (b *Bot) toolsOf(ctx context.Context, l line) (agentID string, all []Tool, err error) {
	if b.Runner == nil {
		return "", nil, fault.Invalidf("tools cannot be called from here")
	}
	if agentID, err = b.oneAgent(l); err != nil {
		return "", nil, err
	}
	all, err = b.Runner.Tools(ctx, agentID, l.who.user.ID)
	return agentID, all, err
}

// toolNamed finds a tool by its whole name, or by its own where no other has it.
func toolNamed(all []Tool, name string) (Tool, error) {
	var short []Tool
	var near []string
	for _, t := range all {
		switch {
		case t.Name == name:
			return t, nil
		case t.Short == name || t.Server+"__"+t.Short == name:
			short = append(short, t)
		case strings.Contains(t.Name, name) || strings.Contains(name, t.Short) || spelling.Distance(t.Short, name) <= 2:
			near = append(near, t.Name)
		}
	}
	switch {
	case len(short) == 1:
		return short[0], nil
	case len(short) > 1:
		return Tool{}, misusef("Several tools are called that. Say which: %s or %s.", short[0].Name, short[1].Name)
	case len(near) > 0:
		return Tool{}, misusef("There is no tool “%s” that you may call. Did you mean %s?", oneLine(name, maxName), oneLine(near[0], maxKey))
	}
	return Tool{}, misusef("There is no tool “%s” that you may call. Send tools to see them.", oneLine(name, maxName))
}

// run stores a call with the job that makes it.
func (b *Bot) run(ctx context.Context, l line) (string, error) {
	name, text := firstWord(l.rest)
	if name == "" {
		return "", misuse("Which tool? Send tools to see them.")
	}
	agentID, all, err := b.toolsOf(ctx, l)
	if err != nil {
		return "", err
	}
	t, err := toolNamed(all, name)
	if err != nil {
		return "", err
	}
	args, err := readArgs(text, readSchema(t.Schema))
	if err != nil {
		return "", err
	}
	return b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		s, err := b.chatSession(ctx, tx, l, agentID)
		if err != nil {
			return done, err
		}
		done.wakes = session.Keys(agentID, s.ID)
		_, err = tx.Exec(ctx, `
			INSERT INTO chat_calls (channel, event_id, session_id, agent_id, user_id, identity, tool, args, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			l.event.Channel, l.event.EventID, s.ID, agentID, l.who.user.ID, l.who.Identity, t.Name, []byte(args), l.thread())
		if err != nil {
			return done, fmt.Errorf("store call: %w", err)
		}
		_, err = session.Append(ctx, tx, agentID, s.ID, session.ToolCall, map[string]any{"tool": t.Name, "args": redact.JSON(args)})
		if err != nil {
			return done, err
		}
		if err := b.queueTyping(ctx, tx, l, agentID, l.event.EventID); err != nil {
			return done, err
		}
		return done, b.queueCall(ctx, tx, callArgs(l.event))
	})
}
