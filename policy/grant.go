package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// GrantKind says what the value of a grant names.
type GrantKind string

// The kinds of grants.
const (
	GrantAny    GrantKind = "any"
	GrantRole   GrantKind = "role"
	GrantUser   GrantKind = "user"
	GrantCircle GrantKind = "circle"
)

// Limits on what a row may carry. They bound the work and memory of a set, not
// what a person would write by hand.
const (
	maxGrants     = 1024
	maxValueBytes = 256
)

// Grant says who a row speaks about. Its JSON form is {"type":"any"} or, for the
// other kinds, {"type":"role","value":"owner"}.
type Grant struct {
	Type  GrantKind `json:"type"`
	Value string    `json:"value,omitempty"`
}

// Any returns the grant that holds for every principal.
func Any() Grant { return Grant{Type: GrantAny} }

// ToRole returns the grant that holds for principals of exactly this role.
func ToRole(r Role) Grant { return Grant{Type: GrantRole, Value: string(r)} }

// ToUser returns the grant that holds for one user, or for a bare agent key when
// id is its [Principal.Requester].
func ToUser(id string) Grant { return Grant{Type: GrantUser, Value: id} }

// ToCircle returns the grant that holds for the members of a circle.
func ToCircle(name string) Grant { return Grant{Type: GrantCircle, Value: name} }

// String returns the grant as people write it: "any", "role:owner".
func (g Grant) String() string {
	if g.Type == GrantAny {
		return string(g.Type)
	}
	return string(g.Type) + ":" + g.Value
}

// ParseGrants reads a JSON list of grants. Absent and null are the empty list,
// which speaks for nobody. Unknown fields and kinds are refused with an
// [*InvalidError].
func ParseGrants(raw json.RawMessage) ([]Grant, error) {
	if absent(raw) {
		return nil, nil
	}
	text := strings.TrimSpace(string(raw))
	if err := checkJSON("grants", text); err != nil {
		return nil, err
	}
	var grants []Grant
	if err := readGrants("grants", text, &grants); err != nil {
		return nil, err
	}
	if err := checkGrants("grants", grants); err != nil {
		return nil, err
	}
	return grants, nil
}

// Holds reports whether one of the grants speaks for the principal. No grants
// speak for nobody, and a grant of an unknown kind never holds.
func Holds(grants []Grant, p Principal) bool {
	who := callerOf(&p, p.Requester())
	return holdsFor(grants, &who)
}

func holdsFor(grants []Grant, who *caller) bool {
	for _, g := range grants {
		switch {
		case g.Type == GrantAny,
			g.Type == GrantRole && Role(g.Value).bit()&who.role != 0,
			g.Type == GrantUser && g.Value == who.user,
			g.Type == GrantCircle && slices.Contains(who.circles, g.Value):
			return true
		}
	}
	return false
}

func checkGrants(field string, grants []Grant) *InvalidError {
	if len(grants) > maxGrants {
		return invalid(field, "has %d grants, at most %d are allowed", len(grants), maxGrants)
	}
	for i, g := range grants {
		if err := g.check(); err != nil {
			return entry(field, i, err)
		}
	}
	return nil
}

func (g Grant) check() *InvalidError {
	switch g.Type {
	case GrantAny:
		if g.Value != "" {
			return invalid(".value", "a grant to any takes no value")
		}
		return nil
	case GrantRole:
		if Role(g.Value).bit() == 0 {
			return invalid(".value", "unknown role %q: want owner, user or guest", g.Value)
		}
		return nil
	case GrantUser, GrantCircle:
		return checkName(".value", g.Value)
	}
	return invalid(".type", "unknown grant %q: want any, role, user or circle", g.Type)
}

// checkName accepts what may name a user, a circle, a sandbox or a resource.
func checkName(field, value string) *InvalidError {
	switch {
	case value == "":
		return invalid(field, "is empty")
	case len(value) > maxValueBytes:
		return invalid(field, "is longer than %d bytes", maxValueBytes)
	case !utf8.ValidString(value):
		return invalid(field, "is not valid UTF-8")
	case strings.TrimSpace(value) != value:
		return invalid(field, "begins or ends with a space")
	}
	if i := strings.IndexFunc(value, unicode.IsControl); i >= 0 {
		return invalid(field, "contains a control character").at(i + 1)
	}
	return nil
}
