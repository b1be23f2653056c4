package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Args are the arguments of one call: a JSON object, checked once and never
// changed. The zero Args is the empty object.
type Args struct {
	parsed *parsedArgs
}

type parsedArgs struct {
	raw    string
	sorted []member // by name, bytewise, for look-ups
	once   sync.Once
	digest string // of the canonical form, made when it is first asked for
}

// ParseArgs checks raw and keeps its very bytes. No bytes and null are the empty
// object. It refuses, with an [*InvalidError] that holds the position: a value
// that is no object, text after it, an object key that occurs twice at any depth,
// nesting beyond 64, invalid UTF-8 and half surrogate pairs. Its length is the
// caller's to bound.
func ParseArgs(raw json.RawMessage) (Args, error) {
	if len(raw) == 0 {
		return Args{}, nil
	}
	text := string(raw)
	if err := checkJSON("args", text); err != nil {
		return Args{}, err
	}
	value := strings.Trim(text, " \t\r\n")
	if value != "null" && value[0] != '{' {
		return Args{}, invalid("args", "must be an object").at(skipSpace(text, 0) + 1)
	}
	parsed := &parsedArgs{raw: text}
	if value[0] == '{' {
		parsed.sorted = members(value)
	}
	slices.SortFunc(parsed.sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return Args{parsed: parsed}, nil
}

// Raw returns a copy of the bytes that ParseArgs got; nil for the zero Args.
func (a Args) Raw() []byte {
	if a.parsed == nil {
		return nil
	}
	return []byte(a.parsed.raw)
}

// Canonical returns the form that digests are made over: RFC 8785, except that
// numbers keep the spelling they came in.
func (a Args) Canonical() []byte {
	if a.parsed == nil {
		return []byte("{}")
	}
	return canonicalMembers(make([]byte, 0, len(a.parsed.raw)), slices.Clone(a.parsed.sorted))
}

// String tells the size and nothing else, so that arguments cannot slip into a log.
func (a Args) String() string {
	size := 0
	if a.parsed != nil {
		size = len(a.parsed.raw)
	}
	return "arguments of " + strconv.Itoa(size) + " bytes"
}

// GoString is String, for the verb %#v.
func (a Args) GoString() string { return a.String() }

// argument finds what is written under a top-level name.
func (a Args) argument(name string) argument {
	value, found := a.lookup(name)
	return argument{name: name, value: value, found: found, folded: a.hasOtherCase(name)}
}

func (a Args) lookup(name string) (value string, ok bool) {
	if a.parsed == nil {
		return "", false
	}
	i, ok := slices.BinarySearchFunc(a.parsed.sorted, name, func(m member, name string) int {
		return strings.Compare(m.name, name)
	})
	if !ok {
		return "", false
	}
	return a.parsed.sorted[i].value, true
}

// hasOtherCase reports whether a top-level name differs from this one only in case.
func (a Args) hasOtherCase(name string) bool {
	if a.parsed == nil {
		return false
	}
	for _, m := range a.parsed.sorted {
		if m.name != name && strings.EqualFold(m.name, name) {
			return true
		}
	}
	return false
}

// ArgsDigest returns the lower-case hexadecimal SHA-256 of the canonical
// arguments. It is what Scope.ArgsDigest is compared with; it binds neither tool
// nor principal.
func ArgsDigest(a Args) string {
	if a.parsed == nil {
		return digestOf(a)
	}
	a.parsed.once.Do(func() { a.parsed.digest = digestOf(a) })
	return a.parsed.digest
}

func digestOf(a Args) string {
	sum := sha256.Sum256(a.Canonical())
	return hex.EncodeToString(sum[:])
}
