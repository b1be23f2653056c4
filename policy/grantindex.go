package policy

import (
	"cmp"
	"slices"
)

// grantIndex finds the rules that speak for a caller. A rule with several grants
// stands in several lists, each of them in stable order.
type grantIndex struct {
	any     []brief
	roles   [maxRoleBit + 1][]brief // by the role's bit
	circles map[string][]brief

	// users has the briefs of user grants, those of one slot together: slot i begins
	// at starts[i], and the slot of a user is its number modulo the slots, of which
	// there are a power of two.
	users  []brief
	starts []int32
}

// maxRoleBit is the largest that Role.bit returns.
const maxRoleBit = 4

func newGrantIndex(briefs []brief) *grantIndex {
	g := &grantIndex{users: make([]brief, 0, len(briefs))}
	for i := range briefs {
		g.add(briefs[i])
	}
	g.sortUsers()
	return g
}

func (g *grantIndex) sortUsers() {
	slots := 1
	for slots < len(g.users) {
		slots *= 2
	}
	g.starts = make([]int32, slots+1)
	slices.SortStableFunc(g.users, func(a, b brief) int { return cmp.Compare(g.slot(a.user), g.slot(b.user)) })
	for i := range g.users {
		g.starts[g.slot(g.users[i].user)+1] = int32(i + 1)
	}
	for i := range slots {
		g.starts[i+1] = max(g.starts[i], g.starts[i+1])
	}
}

func (g *grantIndex) slot(user int32) int { return int(user) & (len(g.starts) - 2) }

func (g *grantIndex) add(b brief) {
	if b.any {
		g.any = append(g.any, b)
		return
	}
	for _, role := range []Role{Owner, User, Guest} {
		if bit := role.bit(); b.roles&bit != 0 {
			g.roles[bit] = append(g.roles[bit], b)
		}
	}
	for _, circle := range b.rule.circles {
		if g.circles == nil {
			g.circles = map[string][]brief{}
		}
		g.circles[circle] = append(g.circles[circle], b)
	}
	for _, user := range b.rule.users {
		b.user = user
		g.users = append(g.users, b)
	}
}

// forUser returns the briefs among which those of the user are, in stable order;
// others may be between them.
func (g *grantIndex) forUser(number int32) []brief {
	if number == 0 {
		return nil
	}
	slot := g.slot(number)
	return g.users[g.starts[slot]:g.starts[slot+1]]
}
