package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RuleVersion is a rule that asks, as it was then.
type RuleVersion struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
}

// Basis is what a question stands on beside the call itself. On another basis the
// same call is another question.
type Basis struct {
	// Rules are all the rules that ask, by id; none means the call's Rule alone.
	Rules []RuleVersion `json:"rules"`
	// Made says of a server's tool how it is made and served, part by part: the name
	// of a part is a noun for people, its value changes whenever the part does.
	Made map[string]string `json:"made,omitempty"`
}

// TheServer is the part of Made that changes when a server is taken away and
// another gets its name.
const TheServer = "the server"

// MadeDigest is one text for all parts of Made; empty for none.
func MadeDigest(made map[string]string) string {
	if len(made) == 0 {
		return ""
	}
	return digestOf(made)
}

// digestOf is the digest of a value's JSON text.
func digestOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts, numbers and truth values always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (c Call) rules() []RuleVersion {
	if len(c.Basis.Rules) > 0 {
		return c.Basis.Rules
	}
	return []RuleVersion{{c.Rule.ID, c.Rule.Version}}
}

// basisDigest covers the rules that ask with their strictest settings, and how the
// tool is made. Not what hangs on the arguments or on who runs the call: a window may
// be for any of them.
func (c Call) basisDigest(s Settings) string {
	s.Opens, s.RuleVersion, s.Outside, s.BasisDigest, s.Changed = nil, 0, false, "", ""
	a := c.Rule.Scope.Approval
	return digestOf([]any{s, a.TTL(), a.Deadline()})
}

// changes says in words what came between two bases; empty where nothing did that
// can be told of calls with other arguments.
func changes(before, after Settings, sameArguments bool) string {
	var all []string
	parts := maps.Clone(before.Made)
	maps.Copy(parts, after.Made)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if before.Made[part] != after.Made[part] {
			all = append(all, part+" changed")
		}
	}
	if before.Made[TheServer] != after.Made[TheServer] {
		all = []string{TheServer + " was replaced by another of its name"}
	}
	if len(all) == 0 && sameArguments {
		return "the rules for this call changed"
	}
	return strings.Join(all, ", ")
}

// changedSince is changes with the request that was put before.
func changedSince(before Request, after Settings, sameArguments bool) string {
	what := changes(before.Settings, after, sameArguments)
	if what == "" {
		return ""
	}
	verb := "asked"
	if before.Status == Approved {
		verb = "approved"
	}
	return fmt.Sprintf("%s since request %d was %s", what, before.ShortID, verb)
}
