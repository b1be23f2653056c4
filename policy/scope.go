package policy

import (
	"encoding/json"
	"slices"
	"strings"
)

// Scope narrows a row. Which fields a row may carry depends on its resource type
// and its effect: see each field. The zero Scope narrows nothing.
type Scope struct {
	// Args are conditions on the arguments of the call, for tool and mcp rows. All
	// must hold.
	Args []Condition `json:"args,omitempty"`
	// Approval says how a person is asked, for require_approval rows.
	Approval *ApprovalSettings `json:"approval,omitempty"`
	// ArgsDigest limits an approval's row to calls with exactly these arguments; see
	// the function ArgsDigest. Only for rows of OriginApproval.
	ArgsDigest string `json:"argsDigest,omitempty"`
	// Approves limits an approval's row to the require_approval row with this id: it
	// answers no other. Only for rows of OriginApproval.
	Approves string `json:"approves,omitempty"`
	// Definition limits an approval's row to the tool as it was defined and served
	// then; see Request.Definition. Only for rows of OriginApproval.
	Definition string `json:"definition,omitempty"`

	// Sandbox is the sandbox's alias or "*", for file and exec rows.
	Sandbox string `json:"sandbox,omitempty"`
	// Mode is read, write or "*", for file rows.
	Mode string `json:"mode,omitempty"`
	// Path is an absolute, cleaned path prefix, for file rows; in one that an approval
	// left it is the very path.
	Path string `json:"path,omitempty"`
	// Command is, for exec rows, the exact command, "*", or a glob over words: a * that
	// stands alone is any words, also none, another stays within its word. No such glob
	// matches shell control characters; text that has some cannot be judged by one, and
	// so counts for deny and require_approval rows. In a row that an approval left it is
	// the very command, whatever characters it has.
	Command string `json:"command,omitempty"`
	// CWD is a cleaned path prefix of the working directory, for exec rows; in one that
	// an approval left it is the very directory.
	CWD string `json:"cwd,omitempty"`
}

// ParseScope reads the JSON form of a scope strictly: it refuses unknown fields,
// fields that rows of this resource type do not have, repeated keys and values of
// another type, with an [*InvalidError] that names the field. Absent and null are
// the zero Scope; a null field counts as absent. What depends on the rest of the
// row is checked by [Row.Validate].
func ParseScope(resourceType string, raw json.RawMessage) (Scope, error) {
	var s Scope
	if absent(raw) {
		return s, nil
	}
	text := strings.TrimSpace(string(raw))
	if err := checkJSON("scope", text); err != nil {
		return s, err
	}
	if err := readObject("scope", text, s.set); err != nil {
		return Scope{}, err
	}
	if err := s.check(resourceType); err != nil {
		return Scope{}, err
	}
	return s, nil
}

func (s *Scope) set(m member) error {
	field := "scope." + clip(m.name)
	switch m.name {
	case "args":
		return readConditions(field, m.value, &s.Args)
	case "approval":
		s.Approval = &ApprovalSettings{}
		return readObject(field, m.value, s.Approval.set)
	}
	text := map[string]*string{
		"argsDigest": &s.ArgsDigest, "approves": &s.Approves, "definition": &s.Definition, "sandbox": &s.Sandbox,
		"mode": &s.Mode, "path": &s.Path, "command": &s.Command, "cwd": &s.CWD,
	}[m.name]
	if text == nil {
		return unknownField("scope", m.name)
	}
	return readText(field, m.value, text)
}

func readConditions(field, value string, into *[]Condition) error {
	return readList(field, value, func(field, value string) error {
		c := Condition{Match: MatchGlob}
		err := readObject(field, value, func(m member) error {
			switch m.name {
			case "arg":
				return readText(field+".arg", m.value, &c.Arg)
			case "match":
				return readText(field+".match", m.value, &c.Match)
			case "pattern":
				return readText(field+".pattern", m.value, &c.Pattern)
			case "required":
				return readBool(field+".required", m.value, &c.Required)
			}
			return unknownField(field, m.name)
		})
		*into = append(*into, c)
		return err
	})
}

// Canonical returns the one JSON text of this scope: sorted keys, no spaces, no
// absent fields, conditions in a fixed order. Scopes that mean the same by these
// rules have the same text, and ParseScope reads it back.
func (s Scope) Canonical() []byte {
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		if s.Args[i].Match == "" {
			s.Args[i].Match = MatchGlob
		}
	}
	slices.SortFunc(s.Args, Condition.compare)
	s.Args = slices.Compact(s.Args)
	plain, _ := json.Marshal(s) // texts, numbers and truth values: it cannot fail
	return canonicalJSON(nil, string(plain))
}

func (c Condition) compare(other Condition) int {
	if c.Required != other.Required {
		return sizeIf(c.Required, 2) - 1
	}
	if order := strings.Compare(c.Arg, other.Arg); order != 0 {
		return order
	}
	if order := strings.Compare(string(c.Match), string(other.Match)); order != 0 {
		return order
	}
	return strings.Compare(c.Pattern, other.Pattern)
}
