package policy

import "slices"

// rule is a row ready for use. What decisions read comes first: it then lies in
// one line of the processor's cache.
type rule struct {
	row        *Row
	order      int32
	any        bool
	roles      uint8
	bound      bool   // to the argument digest of its row
	answers    bool   // left by an approval, for the tool as it was defined then
	rest       bool   // asks about any command: allow rows for some are exceptions
	effect     Effect // Deny for a broken row
	conditions []condition
	broken     *InvalidError // why the row cannot be used
	users      []int32       // by number
	circles    []string
	area       *area // of file and exec rows
}

// userNumbers gives each value of a user grant in a set its number, from 1.
type userNumbers map[string]int32

func (u userNumbers) number(user string) int32 {
	if u[user] == 0 {
		u[user] = int32(len(u) + 1)
	}
	return u[user]
}

// newRule compiles a row. A row that cannot be used becomes the deny that it
// counts as: without conditions, and for everybody unless its grants are sound.
func newRule(row *Row, order int32, patterns *patternCache, users userNumbers) *rule {
	r := &rule{row: row, order: order, effect: row.Effect}
	r.conditions, r.broken = row.compile(patterns)
	if r.broken != nil {
		r.effect = Deny
		r.any = row.Unreadable != nil || checkGrants("grants", row.Grants) != nil
	}
	r.answers = r.fromApproval()
	r.bound = row.Scope.ArgsDigest != "" && r.answers
	for _, g := range row.Grants {
		r.grant(g, users)
	}
	if row.ResourceType == TypeFile || row.ResourceType == TypeExec {
		r.area = areaOf(row, r.broken != nil)
		r.rest = r.effect == RequireApproval && row.ResourceType == TypeExec && r.area.command.kind == anyCommand
	}
	return r
}

func (r *rule) grant(g Grant, users userNumbers) {
	switch g.Type {
	case GrantAny:
		r.any = true
	case GrantRole:
		r.roles |= Role(g.Value).bit()
	case GrantUser:
		r.users = append(r.users, users.number(g.Value))
	case GrantCircle:
		r.circles = append(r.circles, g.Value)
	}
}

// fromApproval reports whether the rule only adds, as a persistent approval does.
func (r *rule) fromApproval() bool {
	return r.row.Origin == OriginApproval && r.broken == nil
}

// caller is a principal as grants see it.
type caller struct {
	role    uint8  // 0 for none
	user    string // the value of its own user grant
	number  int32  // of user; 0 if no row of the set names it
	circles []string
}

// callerOf takes the requester apart, so that a set can make that text once.
func callerOf(p *Principal, requester string) caller {
	c := caller{role: p.Role.bit(), user: requester}
	if c.role != 0 {
		c.circles = p.Circles
	}
	return c
}

// speaksFor reports whether one of the row's grants holds for the caller.
func (r *rule) speaksFor(c *caller) bool {
	if r.any || r.roles&c.role != 0 {
		return true
	}
	if slices.Contains(r.users, c.number) {
		return true
	}
	for _, circle := range r.circles {
		if slices.Contains(c.circles, circle) {
			return true
		}
	}
	return false
}

// holds reports whether the rule's conditions hold for the call.
func (r *rule) holds(c *call) bool {
	if r.rest && r.givesWay(c) {
		return false
	}
	if c.anyArgs {
		return r.holdsForSome(c)
	}
	if r.answers && r.row.Scope.Definition != c.definition {
		return false
	}
	if c.everyArgs && (len(r.conditions) > 0 || r.bound) {
		return r.effect != Allow
	}
	for i := range r.conditions {
		if !r.conditions[i].holds(r.effect, c) {
			return false
		}
	}
	return !r.bound || r.row.Scope.ArgsDigest == c.argsDigest()
}

// holdsForSome reports whether the rule holds for the arguments that open most.
func (r *rule) holdsForSome(c *call) bool {
	bare := len(r.conditions) == 0
	if r.effect == Deny {
		return bare || c.guarded && r.meetsAll()
	}
	return !c.general || bare && !r.bound
}

// meetsAll reports whether any values meet the rule's conditions.
func (r *rule) meetsAll() bool {
	return !slices.ContainsFunc(r.row.Scope.Args, func(c Condition) bool {
		if c.Match == MatchRegex {
			return c.Pattern != ".*" && c.Pattern != "(?s).*"
		}
		return c.Pattern != "*" && c.Pattern != "**"
	})
}

// claims reports whether the row takes the place of declared and default grants
// whatever the arguments are. An allow row does, even where its conditions fail;
// a conditional deny or require_approval row only where they hold.
func (r *rule) claims() bool {
	return !r.fromApproval() && (r.effect == Allow || len(r.conditions) == 0)
}

// closes reports whether the row closes the layer of its file or command: what no
// allow row covers is then denied. Allow rows do, and rows that may have been one
// before they broke; rows against a call never do, whoever they speak for.
func (r *rule) closes() bool {
	return r.row.Origin != OriginApproval && r.row.Effect != Deny && r.row.Effect != RequireApproval
}
