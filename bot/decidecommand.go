package bot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

// maxPending is how many requests of an agent are listed.
const maxPending = 50

// ownerCommand works the commands by which owners decide in words.
func (b *Bot) ownerCommand(ctx context.Context, ch Channel, who person, verb string, words []string) (string, error) {
	switch {
	case len(who.owns()) == 0:
		return "Only an owner of an agent can do that.", nil
	case verb == "pending":
		return b.pending(ctx, who)
	case len(words) == 0:
		return fmt.Sprintf("Which one? Send: %s N, with the number of a request.", verb), nil
	}
	d, problem := decisionOf(verb, words[1:])
	if problem != "" {
		return problem, nil
	}
	r, problem, err := b.named(ctx, who, words[0])
	if err != nil || problem != "" {
		return problem, err
	}
	d.AgentID, d.RequestID, d.Actor = r.AgentID, r.ID, actor(ch, who.user)
	return b.decide(ctx, d)
}

// decisionOf reads what stands behind the number. Without a word an approval
// is the smallest there is: this one call.
func decisionOf(verb string, words []string) (d approvals.Decision, problem string) {
	if verb == "reject" {
		return approvals.Decision{Reason: strings.Join(words, " ")}, ""
	}
	d = approvals.Decision{Approve: true, Resolution: policy.Single, Extent: approvals.WholeTool}
	switch strings.ToLower(strings.Join(words, " ")) {
	case "", "once":
	case "hour":
		d.Resolution = policy.Once
	case "always":
		d.Resolution = policy.Persistent
	case "always these":
		d.Resolution, d.Extent = policy.Persistent, approvals.TheseArguments
	default:
		return d, "Approve how? Send: approve N, approve N hour, approve N always, or approve N always these."
	}
	return d, ""
}

// named finds the request that a person means by "7", "#7" or "agent#7" among
// those they own. A number that several agents have means the open one; where
// several are open the person is asked, never guessed for.
func (b *Bot) named(ctx context.Context, who person, word string) (r approvals.Request, problem string, err error) {
	agents, number, ok := candidates(who, word)
	if !ok {
		return r, "That is not the number of a request. Send pending to see what waits.", nil
	}
	var found, open []approvals.Request
	for _, agentID := range agents {
		r, err := approvals.GetShort(ctx, b.Pool, agentID, number)
		if isKnown(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return r, "", err
		}
		found = append(found, r)
		if r.Status == approvals.Pending {
			open = append(open, r)
		}
	}
	switch {
	case len(open) == 1:
		return open[0], "", nil
	case len(found) == 1:
		return found[0], "", nil
	case len(found) == 0:
		return r, fmt.Sprintf("There is no request #%d.", number), nil
	}
	return r, fmt.Sprintf("Several of your agents have a request #%d. Name the agent: %s#%d.", number, found[0].AgentID, number), nil
}

// candidates are the agents that may have the request, and its number.
func candidates(who person, word string) (agents []string, number int, ok bool) {
	agent, digits, named := strings.Cut(word, "#")
	if !named {
		agent, digits = "", word
	}
	number, err := strconv.Atoi(digits)
	if err != nil || number <= 0 || number > 1<<31-1 {
		return nil, 0, false
	}
	for _, owned := range who.owns() {
		if agent == "" || agent == owned {
			agents = append(agents, owned)
		}
	}
	return agents, number, true
}

// pending lists the open requests of the person's agents.
func (b *Bot) pending(ctx context.Context, who person) (string, error) {
	var lines []string
	for _, agentID := range who.owns() {
		open, err := approvals.List(ctx, b.Pool, agentID, approvals.Filter{Status: approvals.Pending, Limit: maxPending})
		if err != nil {
			return "", err
		}
		for _, r := range open {
			lines = append(lines, fmt.Sprintf("%s · %s · from %s · until %s",
				numberFor(who, r), oneLine(r.ResourceKey, maxName), requester(r), clock(r.ExpiresAt)))
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

// numberFor is how a person names a request: with its agent, if they own
// several.
func numberFor(who person, r approvals.Request) string {
	if len(who.owns()) > 1 {
		return fmt.Sprintf("%s#%d", r.AgentID, r.ShortID)
	}
	return fmt.Sprintf("#%d", r.ShortID)
}
