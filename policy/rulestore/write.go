package rulestore

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/policy"
)

// Change is a row as a person, or a program for one, wants it stored.
type Change struct {
	Row policy.Row
	// AddGrants adds the grants to those of the row that is there already; else they
	// take their place.
	AddGrants bool
	// KeepDefaults also stores the default grants that the row would replace, so that
	// a row for guests does not take a tool from its owner.
	KeepDefaults bool
	// Force stores the row although somebody is locked out, or no tool has an argument
	// that it names.
	Force bool
	// Tools are the tools that are known, with their arguments.
	Tools []policy.ToolInfo
}

// Written is a stored row, and what came of it besides.
type Written struct {
	Row
	// Replaced is the row as it was before; nil where there was none.
	Replaced *Row `json:"replaced,omitempty"`
	// Kept are the rows that keep default grants beside this one.
	Kept []Row `json:"kept,omitempty"`
	// Notes say what the row's writer may not expect.
	Notes []policy.Finding `json:"notes,omitempty"`
}

// Set stores a row in the caller's transaction as every surface on which people write
// rows does. An argument that no tool has is Invalid unknown_argument; what locks
// people out is a Conflict would_lock_out that lists the losses; both unless forced.
// Call Store.Changed after the commit.
func Set(ctx context.Context, tx pgx.Tx, c Change, actor string) (w Written, err error) {
	c.Row = c.Row.Complete()
	if err := c.Row.Validate(); err != nil {
		return w, Invalid(err)
	}
	if err := c.checkArguments(); err != nil {
		return w, err
	}
	g := Guard{AgentID: c.Row.AgentID, Tools: c.Tools, Force: c.Force}
	err = g.Do(ctx, tx, func() error { return c.store(ctx, tx, &w, actor) })
	if err != nil {
		return Written{}, err
	}
	err = c.note(ctx, tx, &w)
	for i := range w.Notes {
		w.Notes[i].RowID = w.ID
	}
	return w, err
}

// store writes the row and those that keep defaults.
func (c *Change) store(ctx context.Context, tx pgx.Tx, w *Written, actor string) error {
	if c.KeepDefaults {
		if err := c.keepDefaults(ctx, tx, w, actor); err != nil {
			return err
		}
	}
	write := put
	if c.AddGrants {
		write = add
	}
	stored, before, err := write(ctx, tx, c.Row, actor)
	if err != nil {
		return err
	}
	w.Row = stored
	if len(before) > 0 {
		w.Replaced = &before[0]
	}
	return nil
}

// keepDefaults stores what the row would replace. Where that is the very row, its
// grants take the defaults in.
func (c *Change) keepDefaults(ctx context.Context, tx pgx.Tx, w *Written, actor string) error {
	_, rows, err := current(ctx, tx, c.Row.AgentID)
	if err != nil {
		return err
	}
	if !c.AddGrants {
		rows = slices.DeleteFunc(rows, c.replaces)
	}
	for _, kept := range policy.KeepDefaults(rows, c.Row) {
		if c.replaces(kept) {
			c.Row.Grants = united(c.Row.Grants, kept.Grants)
			w.say(NoteDefaults, "the default grants of %s stay: %s", kept.ResourceKey, grantsText(kept.Grants))
			continue
		}
		stored, _, err := put(ctx, tx, kept, actor)
		if err != nil {
			return err
		}
		w.Kept = append(w.Kept, stored)
	}
	return nil
}

// replaces reports whether the change would be stored in that row's place.
func (c *Change) replaces(other policy.Row) bool {
	of := func(r policy.Row) policy.Origin {
		if r.Origin == "" {
			return policy.OriginAdmin
		}
		return r.Origin
	}
	return other.ResourceType == c.Row.ResourceType && other.ResourceKey == c.Row.ResourceKey &&
		other.Effect == c.Row.Effect && of(other) == of(c.Row) &&
		bytes.Equal(other.Scope.Canonical(), c.Row.Scope.Canonical())
}

// united are the grants of both lists, each once; any stands for all.
func united(a, b []policy.Grant) []policy.Grant {
	all := slices.Clone(a)
	for _, g := range b {
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	if slices.Contains(all, policy.Any()) {
		return []policy.Grant{policy.Any()}
	}
	return all
}

func grantsText(grants []policy.Grant) string {
	texts := make([]string, len(grants))
	for i, g := range grants {
		texts[i] = g.String()
	}
	if len(texts) == 0 {
		return "nobody"
	}
	return strings.Join(texts, ", ")
}
