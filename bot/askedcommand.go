package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holm/approvals"
	"holm/internal/stamp"
)

// maxRequests is how many requests of an agent a requester is shown.
const maxRequests = 10

// requests lists what the person has asked for.
func (b *Bot) requests(ctx context.Context, l line) (string, error) {
	agents, err := b.someAgents(l)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, agentID := range agents {
		own, err := approvals.List(ctx, b.Pool, agentID, approvals.Filter{RequesterID: l.who.user.ID, Limit: maxRequests})
		if err != nil {
			return "", err
		}
		for _, r := range own {
			line := fmt.Sprintf("%s · %s · %s", numberFor(l, r), oneLine(r.Resource(), maxName), standing(r))
			if r.Asked > 1 {
				line += fmt.Sprintf(" · asked %d times", r.Asked)
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "You have asked for nothing.", nil
	}
	return strings.Join(lines, "\n"), nil
}

// status tells how one request stands, to its requester and to owners.
func (b *Bot) status(ctx context.Context, l line) (string, error) {
	r, err := b.named(ctx, l, l.who.sees)
	if err != nil {
		return "", err
	}
	if r.Revoked, err = approvals.RevocationOf(ctx, b.Pool, r.ID); err != nil {
		return "", err
	}
	lines := []string{fmt.Sprintf("Request %s: %s, from %s.", numberFor(l, r), oneLine(r.Resource(), maxKey), requester(r))}
	if r.Status == approvals.Pending {
		lines = append(lines, sentence(standing(r)), "Why: "+oneLine(r.RuleText, maxText))
	} else {
		lines = append(lines, closedNotes(r, Clock{})...)
	}
	return strings.Join(lines, "\n"), nil
}

// sees tells whether the person asked for the request or owns its agent.
func (p person) sees(r approvals.Request) bool {
	return slices.Contains(p.ids, r.RequesterID) || slices.Contains(p.owns(), r.AgentID)
}

// standing is where a request is, in a clause.
func standing(r approvals.Request) string {
	switch {
	case r.Status == approvals.Pending:
		return "waits for an owner until " + stamp.Minute(r.ExpiresAt)
	case r.Outcome != nil:
		return strings.TrimSuffix(strings.ToLower(outcome(r, Clock{})[:1])+outcome(r, Clock{})[1:], ".")
	case r.Executing():
		return "running since " + stamp.Minute(*r.ClaimedAt)
	}
	return ending(r, Clock{})
}

// someAgents are those that a listing is about: the one named, or all.
func (b *Bot) someAgents(l line) ([]string, error) {
	if l.agent == "" {
		return l.who.agents(l.cmd.who), nil
	}
	one, err := b.oneAgent(l)
	return []string{one}, err
}
