package rulestore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/policy"
)

// Change is a row to be stored with a look at who would lose what by it.
type Change struct {
	Row policy.Row
	// KeepDefaults also stores the default grants that the row would replace, so
	// that a rule for guests does not take a tool from its owner.
	KeepDefaults bool
	// Force stores the row although somebody is locked out.
	Force bool
	// Tools and Principals are all that can be called, and all who can call.
	Tools      []policy.Tool
	Principals []policy.Principal
}

// Set is Put behind the lock-out guard: a change after which an owner loses a
// tool of Holm's own, or nobody can use a tool that somebody could use, is a
// Conflict would_lock_out that lists the losses, with nothing stored.
func Set(ctx context.Context, tx pgx.Tx, c Change, actor string) (Row, error) {
	before, rows, err := current(ctx, tx, c.Row.AgentID)
	if err != nil {
		return Row{}, err
	}
	if c.KeepDefaults {
		for _, kept := range policy.KeepDefaults(rows, c.Row) {
			kept.AgentID = c.Row.AgentID
			if _, err := Put(ctx, tx, kept, actor); err != nil {
				return Row{}, err
			}
		}
	}
	stored, err := Put(ctx, tx, c.Row, actor)
	if err != nil || c.Force {
		return stored, err
	}
	after, _, err := current(ctx, tx, c.Row.AgentID)
	if err != nil {
		return Row{}, err
	}
	if losses := policy.LockOut(before, after, c.Tools, c.Principals); len(losses) > 0 {
		return Row{}, lockOut(losses)
	}
	return stored, nil
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
	Tool string `json:"tool"`
	// Who is everyone, a user's id, or the agent's bare key.
	Who string `json:"who"`
}

func lockOut(losses []policy.Loss) error {
	told := make([]loss, len(losses))
	for i, l := range losses {
		told[i] = loss{Tool: l.Tool.Name, Who: l.Principal.Requester()}
		if l.Everyone {
			told[i].Who = "everyone"
		}
	}
	return &fault.Error{Kind: fault.Conflict, Code: "would_lock_out", Data: map[string]any{"losses": told},
		Message: fmt.Sprintf("%s would lose %s; force it if that is meant", told[0].Who, told[0].Tool)}
}
