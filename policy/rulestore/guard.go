package rulestore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// Guard is the lock-out guard of a change of an agent's rows. A change that locks
// people out (see [policy.LockOut]) is a Conflict would_lock_out that lists the
// losses, for the caller to roll back.
type Guard struct {
	AgentID string
	// Tools are the tools that are known; Holm's own are known without.
	Tools []policy.ToolInfo
	// Force lets the change lock people out.
	Force bool
	// withdraws says that tools of servers are meant to be lost.
	withdraws bool
}

// Deleting is the guard of a deletion of rows of one effect, or with an empty effect
// of all. Who deletes what allows means that the tools of servers go with it.
func Deleting(agentID string, effect policy.Effect, tools []policy.ToolInfo, force bool) Guard {
	return Guard{AgentID: agentID, Tools: tools, Force: force, withdraws: effect == policy.Allow}
}

// Do makes the change.
func (g Guard) Do(ctx context.Context, tx pgx.Tx, do func() error) error {
	if g.Force {
		return do()
	}
	before, _, err := current(ctx, tx, g.AgentID)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, _, err := current(ctx, tx, g.AgentID)
	if err != nil {
		return err
	}
	principals, err := identity.Principals(ctx, tx, g.AgentID)
	if err != nil {
		return err
	}
	losses := slices.DeleteFunc(policy.LockOut(before, after, g.tools(), principals), func(l policy.Loss) bool {
		return g.withdraws && l.Everyone && l.Tool.Server != ""
	})
	if len(losses) == 0 {
		return nil
	}
	return lockOut(ctx, tx, g.AgentID, losses)
}

// tools are Holm's own and those that are known.
func (g Guard) tools() []policy.Tool {
	all := policy.BuiltinTools()
	for _, t := range g.Tools {
		if !slices.Contains(all, t.Tool) {
			all = append(all, t.Tool)
		}
	}
	return all
}

// current compiles the agent's rows as the transaction sees them.
func current(ctx context.Context, tx pgx.Tx, agentID string) (*policy.Set, []policy.Row, error) {
	a, err := readAgent(ctx, tx, agentID)
	if err != nil {
		return nil, nil, err
	}
	stored, err := a.readRows(ctx, tx, agentID)
	if err != nil {
		return nil, nil, err
	}
	set, rows, err := a.compile(agentID, stored)
	return set, rows, err
}

// loss is how a loss is told.
type loss struct {
	Tool    string `json:"tool"`
	Sandbox string `json:"sandbox,omitempty"`
	// Who is everyone, or a person's name.
	Who    string `json:"who"`
	UserID string `json:"userId,omitempty"`
}

func lockOut(ctx context.Context, tx pgx.Tx, agentID string, losses []policy.Loss) error {
	names, err := memberNames(ctx, tx, agentID)
	if err != nil {
		return err
	}
	told := make([]loss, len(losses))
	for i, l := range losses {
		told[i] = loss{Tool: l.Tool.Name, Sandbox: l.Sandbox, Who: "everyone", UserID: l.Principal.UserID}
		if !l.Everyone {
			told[i].Who = names[l.Principal.UserID]
		}
	}
	return &fault.Error{Kind: fault.Conflict, Code: "would_lock_out", Data: map[string]any{"losses": told},
		Message: lossText(told) + "; force it if that is meant"}
}

// memberNames are the names of an agent's people by id; of two with one name each is
// told apart by an identity.
func memberNames(ctx context.Context, tx pgx.Tx, agentID string) (map[string]string, error) {
	members, err := identity.Members(ctx, tx, agentID)
	if err != nil {
		return nil, err
	}
	called := map[string]int{}
	for _, m := range members {
		called[m.Name]++
	}
	names := map[string]string{}
	for _, m := range members {
		names[m.UserID] = m.Name
		if called[m.Name] > 1 && len(m.Identities) > 0 {
			names[m.UserID] = fmt.Sprintf("%s (%s)", m.Name, m.Identities[0])
		}
	}
	return names, nil
}

// mostLost is how many tools a sentence names for each who loses some.
const mostLost = 5

// lossText gathers the tools that each loses: "Olga would lose exec and file_write".
func lossText(all []loss) string {
	var order []string
	tools := map[string][]string{}
	for _, l := range all {
		if tools[l.Who] == nil {
			order = append(order, l.Who)
		}
		tool := l.Tool
		if l.Sandbox != "" {
			tool += " in sandbox " + l.Sandbox
		}
		tools[l.Who] = append(tools[l.Who], tool)
	}
	var parts []string
	for _, who := range order {
		parts = append(parts, who+" would lose "+enumerated(tools[who]))
	}
	return strings.Join(parts, "; ")
}

// enumerated names the first of them, and how many more there are.
func enumerated(names []string) string {
	if n := len(names) - mostLost; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostLost], ", "), n)
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " and " + names[n]
	}
	return strings.Join(names, "")
}
