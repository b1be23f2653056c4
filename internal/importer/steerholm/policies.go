package steerholm

import (
	"encoding/json"
	"errors"
	"fmt"

	"holm/policy"
)

// policyFile is an agent's rules: by name (schema 0) or by id (from schema 1 on).
type policyFile struct {
	AgentName    *string                      `json:"agent_name"`
	IdentityName *string                      `json:"identity_name"` // agent_name before 0.1.0
	AgentID      *string                      `json:"agent_id"`
	Permissions  map[string][]json.RawMessage `json:"permissions" need:""`
}

// permission allows the tools of a server whose name fits a pattern.
type permission struct {
	Name     string
	Policies []argumentPolicy
}

// argumentPolicy is a condition on an argument.
type argumentPolicy struct {
	Arg     string `json:"arg_name" need:""`
	Match   string `json:"match_type"` // default glob
	Pattern string `json:"pattern" need:""`
}

// rowsOf translates the policy file of an agent. A file that Steerholm would not
// read allows nothing there and here.
func (t *translator) rowsOf(a Agent, document string) []policy.Row {
	where := "agent " + a.Was
	if err := t.state.broken[document]; err != nil {
		t.find(LeftOut, where, "its rules: %v", err)
		return nil
	}
	text, ok := t.state.policies[document]
	if !ok {
		return nil
	}
	permissions, err := readPermissions(text, document, t.state.schema)
	if err != nil {
		t.find(LeftOut, where, "its rules: %v", err)
		return nil
	}
	var rows []policy.Row
	for _, server := range sortedNames(permissions) {
		name, ok := t.serverNames[server]
		if !ok {
			t.find(LeftOut, where+", server "+server, "its rules: no such server was taken over")
			continue
		}
		rows = append(rows, t.rules(a, name, permissions[server])...)
	}
	return rows
}

// readPermissions reads a policy file as a whole: one rule that cannot be read
// makes Steerholm refuse them all.
func readPermissions(text []byte, document string, schema int) (map[string][]permission, error) {
	var file policyFile
	if err := decode(text, &file); err != nil {
		return nil, err
	}
	if err := file.belongsTo(document, schema); err != nil {
		return nil, err
	}
	all := map[string][]permission{}
	for _, server := range sortedNames(file.Permissions) {
		for i, raw := range file.Permissions[server] {
			p, err := readPermission(raw)
			if err != nil {
				return nil, fmt.Errorf("rule %d for server %s: %w", i+1, server, err)
			}
			all[server] = append(all[server], p)
		}
	}
	return all, nil
}

func readPermission(raw json.RawMessage) (permission, error) {
	var f struct {
		Name     string            `json:"name" need:""`
		Policies []json.RawMessage `json:"policies"`
	}
	p := permission{}
	if err := decode(raw, &f); err != nil {
		return p, err
	}
	p.Name = f.Name
	for _, one := range f.Policies {
		a := argumentPolicy{Match: "glob"}
		if err := decode(one, &a); err != nil {
			return p, err
		}
		if a.Match != "glob" && a.Match != "regex" {
			return p, fmt.Errorf("match_type %q is not known", a.Match)
		}
		p.Policies = append(p.Policies, a)
	}
	return p, nil
}

// belongsTo checks that the file is in the form of the schema and says of itself
// whose it is: two names may share a file where the file system ignores case.
func (f policyFile) belongsTo(document string, schema int) error {
	byName := f.AgentName
	if byName == nil {
		byName = f.IdentityName
	}
	owner := byName
	if schema > 0 {
		if byName != nil {
			return fmt.Errorf("the file is in the form of schema 0, the state of schema %d", schema)
		}
		owner = f.AgentID
	} else if f.AgentID != nil {
		return errors.New("the file is in the form of schema 1, the state of schema 0")
	}
	switch {
	case owner == nil:
		return errors.New("the file does not say whose it is")
	case *owner != document:
		return fmt.Errorf("the file says that it is %q's", *owner)
	}
	return nil
}

// unclaimed reports policy files of no agent. They allowed nothing.
func (t *translator) unclaimed(agents map[string]string) {
	for _, name := range sortedNames(t.state.policies) {
		if _, ok := agents[name]; !ok {
			t.find(LeftOut, policiesDir+"/"+name+".json", "it belongs to no agent that was taken over")
		}
	}
}
