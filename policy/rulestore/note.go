package rulestore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/servers"
	"holm/internal/spelling"
	"holm/policy"
)

// Lint looks at all rows of an agent; tools are those that are known.
func Lint(ctx context.Context, tx pgx.Tx, agentID string, tools []policy.ToolInfo) ([]policy.Finding, error) {
	_, rows, err := current(ctx, tx, agentID)
	if err != nil {
		return nil, err
	}
	w, err := world(ctx, tx, agentID, tools)
	if err != nil {
		return nil, err
	}
	return policy.Lint(rows, w), nil
}

func world(ctx context.Context, q db.Queryer, agentID string, tools []policy.ToolInfo) (w policy.World, err error) {
	w.Tools = tools
	if w.Servers, err = servers.Names(ctx, q); err != nil {
		return w, err
	}
	w.People, err = identity.Principals(ctx, q, agentID)
	return w, err
}

// The codes of notes that are no findings of lint.
const (
	// NoteDefaults: the row's grants took default grants in.
	NoteDefaults policy.Code = "defaults_kept"
	// NoteSame: the row gives nobody anything new.
	NoteSame policy.Code = "nothing_added"
)

func (w *Written) say(code policy.Code, format string, args ...any) {
	w.Notes = append(w.Notes, policy.Finding{Code: code, Message: fmt.Sprintf(format, args...)})
}

// checkArguments refuses an argument that no tool has, since with a mistyped name
// every call passes an allow row and none meets a deny row.
func (c *Change) checkArguments() error {
	names := policy.CheckArguments(c.Row, c.Tools)
	if len(names.Unknown) == 0 || c.Force {
		return nil
	}
	text := fmt.Sprintf("no tool that the row is about has the argument %q", names.Unknown[0])
	if near := nearest(names.Unknown[0], names.Declared); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	} else if len(names.Declared) > 0 {
		text += "; known are " + enumerated(names.Declared)
	}
	return &fault.Error{Kind: fault.Invalid, Code: "unknown_argument", Message: text + "; force it if that is meant",
		Data: map[string]any{"arguments": names.Unknown, "known": names.Declared}}
}

// nearest is the known word that somebody mistyped, perhaps in its case alone.
func nearest(word string, known []string) string {
	for _, name := range known {
		if strings.EqualFold(name, word) {
			return name
		}
	}
	return spelling.Nearest(word, known, 2)
}

// note tells what lint finds about the stored row, and what its writer may not
// expect.
func (c *Change) note(ctx context.Context, tx pgx.Tx, w *Written) error {
	if had := grantsOf(w.Replaced); c.AddGrants && len(c.Row.Grants) > 0 && len(united(had, c.Row.Grants)) == len(had) {
		w.say(NoteSame, "it is for %s already", grantsText(had))
	}
	if policy.CheckArguments(c.Row, c.Tools).Unchecked {
		w.say(policy.FindingUnchecked, "the arguments of %s are not known now, so their names could not be checked", c.Row.ResourceKey)
	}
	known, err := world(ctx, tx, c.Row.AgentID, c.Tools)
	if err != nil {
		return err
	}
	_, rows, err := current(ctx, tx, c.Row.AgentID)
	if err != nil {
		return err
	}
	for _, f := range policy.LintRow(rows, w.ID, known) {
		if !c.isOutside(f) {
			w.Notes = append(w.Notes, f)
		}
	}
	return nil
}

// isOutside reports whether the finding is that no tool is called so, of a name that
// an agent may give a tool of its own: it asks the gate about these.
func (c *Change) isOutside(f policy.Finding) bool {
	return f.Code == policy.FindingUnknownTool && !strings.HasPrefix(c.Row.ResourceKey, "mcp__")
}

// grantsOf are those of a row that may not be there.
func grantsOf(r *Row) []policy.Grant {
	if r == nil {
		return nil
	}
	return r.Compiled().Grants
}
