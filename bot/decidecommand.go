package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/stamp"
	"holm/policy"
)

// maxPending is how many requests of an agent are listed.
const maxPending = 50

func (b *Bot) approve(ctx context.Context, l line) (string, error) {
	d := approvals.Decision{Approve: true, Resolution: policy.Single, Extent: approvals.WholeTool}
	if len(l.words) > 1 {
		words, err := readHow(&d, l.words[1:])
		if err != nil {
			return "", err
		}
		d.Reason = strings.Join(words, " ")
	}
	return b.decideNamed(ctx, l, d)
}

// readHow reads how far an approval goes, and gives the words behind. Without
// a word it is the smallest there is, this one call; a reason alone might be a
// word that was meant for more.
func readHow(d *approvals.Decision, words []string) ([]string, error) {
	switch strings.ToLower(words[0]) {
	case "single", "once":
	case "hour":
		d.Resolution = policy.Once
	case "always":
		d.Resolution = policy.Persistent
		if len(words) > 1 && strings.EqualFold(words[1], "these") {
			d.Extent, words = approvals.TheseArguments, words[1:]
		}
	default:
		return nil, misuse("Approve how? Say single, hour, always or always these; a reason may follow.")
	}
	return words[1:], nil
}

func (b *Bot) reject(ctx context.Context, l line) (string, error) {
	var d approvals.Decision
	if len(l.words) > 1 {
		words := l.words[1:]
		if d.TryDifferently = strings.EqualFold(words[0], "differently"); d.TryDifferently {
			words = words[1:]
		}
		d.Reason = strings.Join(words, " ")
	}
	return b.decideNamed(ctx, l, d)
}

// decideNamed puts a decision on the request whose number was typed.
func (b *Bot) decideNamed(ctx context.Context, l line, d approvals.Decision) (string, error) {
	var failed error
	r, err := b.named(ctx, l, func(r approvals.Request) bool {
		if slices.Contains(l.who.owns(), r.AgentID) {
			return true
		}
		may, err := approvals.MayDecide(ctx, b.Pool, r, l.who.user.ID)
		failed = errors.Join(failed, err)
		return may
	})
	if failed != nil {
		return "", failed
	}
	if err != nil {
		return "", err
	}
	d.AgentID, d.RequestID, d.Actor = r.AgentID, r.ID, actor(l.ch, l.who.user)
	return b.decide(ctx, d)
}

// named finds the request that a person means by "7", "#7", "agent#7" or
// "@agent 7" among those they may see. A number that several agents have means
// the open one; where several are open the person is asked, never guessed for.
func (b *Bot) named(ctx context.Context, l line, visible func(approvals.Request) bool) (r approvals.Request, err error) {
	if len(l.words) == 0 {
		return r, misuse("Which one? Name the number of a request.")
	}
	agents, number, ok := candidates(l)
	if !ok {
		return r, misuse("That is not the number of a request. Send pending or requests to see the numbers.")
	}
	var found, open []approvals.Request
	for _, agentID := range agents {
		r, err := approvals.GetShort(ctx, b.Pool, agentID, number)
		if isKnown(err, fault.NotFound) || err == nil && !visible(r) {
			continue
		}
		if err != nil {
			return r, err
		}
		found = append(found, r)
		if r.Status == approvals.Pending {
			open = append(open, r)
		}
	}
	switch {
	case len(open) == 1:
		return open[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return r, fault.NotFoundf("there is no request #%d", number)
	}
	return r, fault.Invalidf("Several of your agents have a request #%d. Name the agent: %s#%d", number, found[0].AgentID, number)
}

// candidates are the agents that may have the request, and its number.
func candidates(l line) (agents []string, number int, ok bool) {
	agent, digits, named := strings.Cut(l.words[0], "#")
	if !named {
		agent, digits = "", l.words[0]
	}
	if agent == "" {
		agent = l.agent
	}
	number, err := strconv.Atoi(digits)
	if err != nil || number <= 0 || number > 1<<31-1 {
		return nil, 0, false
	}
	all := l.who.agents(l.cmd.who)
	if agent == "" {
		return all, number, true
	}
	if slices.Contains(all, agent) {
		agents = []string{agent}
	}
	return agents, number, true
}

// pending lists the open requests that the person may decide.
func (b *Bot) pending(ctx context.Context, l line) (string, error) {
	agents, err := b.someAgents(l)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, agentID := range agents {
		open, err := approvals.List(ctx, b.Pool, agentID, approvals.Filter{
			Status: approvals.Pending, ReviewerID: l.who.user.ID, Limit: maxPending,
		})
		if err != nil {
			return "", err
		}
		for _, r := range open {
			text := fmt.Sprintf("%s · %s · from %s · until %s",
				numberFor(l, r), oneLine(r.Resource(), maxName), requester(r), stamp.Minute(r.ExpiresAt))
			if r.Asked > 1 {
				text += fmt.Sprintf(" · asked %d times", r.Asked)
			}
			lines = append(lines, text)
		}
		if len(open) == maxPending {
			lines = append(lines, "There may be more; these are the newest.")
		}
	}
	if len(lines) == 0 {
		return "Nothing waits for a decision.", nil
	}
	return strings.Join(lines, "\n"), nil
}

// numberFor is how a person names a request: with its agent, if the command
// could mean several.
func numberFor(l line, r approvals.Request) string { return numberOf(l, r.AgentID, r.ShortID) }

func numberOf(l line, agentID string, number int) string {
	if len(l.who.agents(l.cmd.who)) > 1 {
		return fmt.Sprintf("%s#%d", agentID, number)
	}
	return fmt.Sprintf("#%d", number)
}
