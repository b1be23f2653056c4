package bot

import (
	"context"
	"slices"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

// person is who typed a command: known, with roles, or a stranger.
type person struct {
	identity.Address
	name  string
	user  identity.User
	known bool
	roles []identity.AgentRole
	// ids are what the person is known by, with those from before a merge.
	ids []string
	// reviews are agents whose open requests the person may decide.
	reviews []string
}

func (b *Bot) personOf(ctx context.Context, ch Channel, ev Event) (person, error) {
	p := person{
		Address: identity.Address{Channel: ch.Namespace(), Identity: ev.Identity},
		name:    oneLine(ev.Name, maxName),
	}
	var err error
	if p.user, p.known, err = identity.FindUser(ctx, b.Pool, p.Address); err != nil || !p.known {
		return p, err
	}
	if p.ids, err = identity.PersonIDs(ctx, b.Pool, p.user.ID); err != nil {
		return p, err
	}
	if p.roles, err = identity.RolesOf(ctx, b.Pool, p.user.ID); err != nil {
		return p, err
	}
	p.reviews, err = approvals.Reviewing(ctx, b.Pool, p.user.ID)
	return p, err
}

// speaksFor tells whether an address still is the user's: what was begun from
// one that was taken away, or parted again, neither goes on nor is told there.
func (b *Bot) speaksFor(ctx context.Context, a identity.Address, userID string) (bool, error) {
	user, known, err := identity.FindUser(ctx, b.Pool, a)
	if err != nil || !known {
		return false, err
	}
	return identity.Same(ctx, b.Pool, user.ID, userID)
}

// agents lists the agents to which the person is what an audience asks for.
func (p person) agents(of audience) []string {
	var agents []string
	for _, r := range p.roles {
		if of == members || r.Role == policy.Owner || of == reviewers && slices.Contains(p.reviews, r.AgentID) {
			agents = append(agents, r.AgentID)
		}
	}
	return agents
}

// owns lists the agents that the person owns.
func (p person) owns() []string { return p.agents(owners) }
