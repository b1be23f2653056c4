package policy

import "strings"

// Limits on conditions (policy.md, "Argument conditions").
const (
	// MaxPattern is the longest pattern, in bytes.
	MaxPattern = 1024
	// MaxConditions is how many conditions one row may carry.
	MaxConditions = 64
)

// MatchKind is the language of a condition's pattern.
type MatchKind string

// The languages. An empty MatchKind counts as MatchGlob.
const (
	// MatchGlob is the pattern language of this package; see [CheckGlob].
	MatchGlob MatchKind = "glob"
	// MatchRegex is RE2 syntax; the whole value must match.
	MatchRegex MatchKind = "regex"
)

// Condition limits a row to calls whose argument matches.
type Condition struct {
	// Arg is a top-level name or a dotted path into objects; [] after a name takes
	// each element of an array: "path", "repo.url", "files[].path".
	Arg string `json:"arg"`
	// Match is the language of Pattern.
	Match MatchKind `json:"match"`
	// Pattern is at most MaxPattern bytes.
	Pattern string `json:"pattern"`
	// Required makes an allow row fail when the call does not carry the argument,
	// or carries no value in it. Other rows always need the argument.
	Required bool `json:"required,omitempty"`
}

// condition is a Condition ready for use.
type condition struct {
	path     []step
	paths    *pathMatcher // the matcher, if it cleans its values
	matcher  matcher
	required bool
	literal  bool    // arg is more than one name: it is also tried as one
	arg      string  // as written
	truth    truth   // of a pattern that is true or false
	number   *number // of a pattern that is a number
}

// step is one name of an argument path.
type step struct {
	name string
	each bool // [] follows: take the elements
}

// matcher judges the text of one value.
type matcher interface {
	match(text string) verdict
}

// verdict is what a pattern says about a value. A value that cannot be judged
// fails an allow row and fulfils a deny or require_approval row: what cannot be
// judged is not let through.
type verdict uint8

const (
	differs verdict = iota
	matches
	unjudged
)

func verdictOf(ok bool) verdict {
	if ok {
		return matches
	}
	return differs
}

func compileConditions(field string, conditions []Condition, patterns *patternCache) ([]condition, *InvalidError) {
	if len(conditions) > MaxConditions {
		return nil, invalid(field, "has %d conditions, at most %d are allowed", len(conditions), MaxConditions)
	}
	if len(conditions) == 1 {
		if compiled := patterns.only[conditions[0]]; compiled != nil {
			return compiled, nil
		}
	}
	var compiled []condition
	for i, c := range conditions {
		one, err := c.compile(patterns)
		if err != nil {
			return nil, entry(field, i, err)
		}
		compiled = append(compiled, one)
	}
	if len(conditions) == 1 {
		patterns.only[conditions[0]] = compiled
	}
	return compiled, nil
}

// compile reports fields as they are within the condition: ".arg".
func (c Condition) compile(patterns *patternCache) (condition, *InvalidError) {
	path, err := patterns.path(".arg", c.Arg)
	if err != nil {
		return condition{}, err
	}
	m, err := patterns.matcher(c.Match, c.Pattern)
	if err != nil {
		return condition{}, err
	}
	ready := condition{path: path, matcher: m, required: c.Required, literal: c.Arg != path[0].name, arg: c.Arg}
	ready.paths, _ = m.(*pathMatcher)
	if text, ok := m.(exactText); ok {
		ready.truth, ready.number = exactTruth(string(text)), numberIn(string(text))
	}
	return ready, nil
}

func parsePath(field, arg string) ([]step, *InvalidError) {
	if err := checkName(field, arg); err != nil {
		return nil, err
	}
	var path []step
	position := 1
	for name := range strings.SplitSeq(arg, ".") {
		one, err := parseStep(field, name)
		if err != nil {
			return nil, err.at(position)
		}
		path = append(path, one)
		position += len(name) + 1
	}
	return path, nil
}

// parseStep reads one name. Arrays within arrays are taken apart by one [] as well.
func parseStep(field, text string) (step, *InvalidError) {
	name, brackets := text, 0
	for strings.HasSuffix(name, "[]") {
		name, brackets = name[:len(name)-2], brackets+1
	}
	if name == "" {
		return step{}, invalid(field, "has an empty name")
	}
	if strings.ContainsAny(name, "[]") {
		return step{}, invalid(field, "takes no index: only [], every element, may follow a name")
	}
	return step{name: name, each: brackets > 0}, nil
}
