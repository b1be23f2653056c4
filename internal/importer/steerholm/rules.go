package steerholm

import (
	"fmt"
	"slices"

	"holm/policy"
)

// rules makes the rows of an agent on one server, in the order of the rules. See
// the package comment, "First match".
func (t *translator) rules(a Agent, server string, list []permission) []policy.Row {
	var rows []policy.Row
	for i, p := range list {
		where := fmt.Sprintf("agent %s, server %s, tool %s", a.Was, server, p.Name)
		row, err := t.rule(where, list[:i], p)
		if err != nil {
			t.find(LeftOut, where, "%v", err)
			continue
		}
		row.AgentID, row.ResourceKey = a.Name, "mcp__"+server+"__"+p.Name
		row.Note = "imported from Steerholm: " + p.Name
		if err := row.Validate(); err != nil {
			t.find(LeftOut, where, "%v", err)
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// rule translates p, which stands behind the rules of earlier.
func (t *translator) rule(where string, earlier []permission, p permission) (policy.Row, error) {
	row := policy.Row{ResourceType: policy.TypeTool, Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}}
	if err := checkToolPattern(p.Name); err != nil {
		return row, err
	}
	for _, e := range earlier {
		if covers(e.Name, p.Name) {
			return row, fmt.Errorf("it never took effect, since %s comes first", e.Name)
		}
	}
	own, notes, err := conditions(p.Policies)
	if err != nil {
		return row, err
	}
	all := slices.Clone(own)
	for _, e := range earlier {
		if !overlap(e.Name, p.Name) {
			continue
		}
		added, _, err := conditions(e.Policies)
		if err != nil {
			return row, fmt.Errorf("the rule %s comes first for some of its tools and cannot be taken over: %w", e.Name, err)
		}
		if added = missing(all, added); len(added) > 0 {
			all = append(all, added...)
			notes = append(notes, fmt.Sprintf("the conditions of %s, which comes first for some of its tools, hold for all of them: allow single tools by name where that is too narrow", e.Name))
		}
	}
	for _, note := range notes {
		t.find(Changed, where, "%s", note)
	}
	row.Scope.Args = all
	return row, nil
}

// missing gives the conditions of added that are not among known.
func missing(known, added []policy.Condition) []policy.Condition {
	var list []policy.Condition
	for _, c := range added {
		if !slices.Contains(known, c) {
			list = append(list, c)
		}
	}
	return list
}

// conditions translates all conditions of a rule, or none.
func conditions(list []argumentPolicy) (all []policy.Condition, notes []string, err error) {
	for _, p := range list {
		c, note, err := condition(p)
		if err != nil {
			return nil, nil, fmt.Errorf("argument %s: %w", p.Arg, err)
		}
		all = append(all, c)
		if note != "" {
			notes = append(notes, fmt.Sprintf("argument %s: %s", p.Arg, note))
		}
	}
	return all, notes, nil
}

func condition(p argumentPolicy) (c policy.Condition, note string, err error) {
	c = policy.Condition{Arg: p.Arg}
	if p.Match == "regex" {
		c.Match = policy.MatchRegex
		c.Pattern, note, err = regex(p.Pattern)
		return c, note, err
	}
	c.Match = policy.MatchGlob
	c.Pattern, note, err = glob(p.Pattern)
	return c, note, err
}
