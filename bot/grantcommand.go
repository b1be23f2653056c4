package bot

import (
	"context"
	"fmt"
	"strings"

	"holm/approvals"
	"holm/internal/stamp"
	"holm/policy"
)

// grants lists what the approvals of the person's agents still let through.
func (b *Bot) grants(ctx context.Context, l line) (string, error) {
	agents, err := b.someAgents(l)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, agentID := range agents {
		list, err := approvals.Grants(ctx, b.Pool, agentID, "")
		if err != nil {
			return "", err
		}
		for _, g := range list[:min(len(list), maxPending)] {
			lines = append(lines, fmt.Sprintf("%s · %s · %s · %s", numberOf(l, g.AgentID, g.ShortID),
				oneLine(g.ResourceKey, maxName), oneLine(g.RequesterName, maxName), extentOf(g)))
		}
		if n := len(list) - maxPending; n > 0 {
			lines = append(lines, fmt.Sprintf("%d older ones of agent %s are not shown.", n, agentID))
		}
	}
	if len(lines) == 0 {
		return "No approval lets anything through now.", nil
	}
	return strings.Join(append(lines, "To take one back, send: revoke N"), "\n"), nil
}

// extentOf says what a grant is good for and how often it was used.
func extentOf(g approvals.Grant) string {
	arguments := "any arguments"
	if g.Binding == policy.BindArguments {
		arguments = "these arguments"
	}
	switch {
	case g.UsesLeft != nil:
		return fmt.Sprintf("one call, until %s", stamp.Minute(*g.ValidUntil))
	case g.ValidUntil != nil:
		return fmt.Sprintf("%s until %s, used %d×", arguments, stamp.Minute(*g.ValidUntil), g.Uses)
	}
	return fmt.Sprintf("%s always, used %d×", arguments, g.Uses)
}

// revoke takes back what one request has left.
func (b *Bot) revoke(ctx context.Context, l line) (string, error) {
	r, err := b.named(ctx, l, func(approvals.Request) bool { return true })
	if err != nil {
		return "", err
	}
	g, err := b.Approvals.Revoke(ctx, r.AgentID, r.ID, actor(l.ch, l.who.user))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Revoked: %s for %s. The next such call is asked about again.",
		oneLine(g.ResourceKey, maxName), oneLine(g.RequesterName, maxName)), nil
}
