package policy

import "unicode/utf8"

// maxRegexValue bounds the values that are given to a regular expression, in
// bytes. RE2 takes time linear in the value, about 25 ms for 100 kB of a bad
// pattern; a longer value cannot be judged. Globs that need no regular expression
// have no such bound.
const maxRegexValue = 64 << 10

// patternCache makes each distinct pattern of a set once.
type patternCache struct {
	made map[patternKey]matcher
}

type patternKey struct {
	kind MatchKind
	text string
}

func newPatternCache() *patternCache {
	return &patternCache{made: map[patternKey]matcher{}}
}

// matcher compiles a pattern; field is the condition it belongs to.
func (p *patternCache) matcher(field string, kind MatchKind, text string) (matcher, error) {
	key := patternKey{kind, text}
	if m, ok := p.made[key]; ok {
		return m, nil
	}
	m, err := compilePattern(field, kind, text)
	if err != nil {
		return nil, err
	}
	p.made[key] = m
	return m, nil
}

func compilePattern(field string, kind MatchKind, text string) (matcher, error) {
	if len(text) > MaxPattern {
		return nil, invalid(field+".pattern", "is longer than %d bytes", MaxPattern).at(MaxPattern + 1)
	}
	if !utf8.ValidString(text) {
		return nil, invalid(field+".pattern", "is not valid UTF-8").at(invalidUTF8(text) + 1)
	}
	switch kind {
	case MatchGlob, "":
		return compileGlob(field+".pattern", text)
	case MatchRegex:
		return compileRegex(field+".pattern", text)
	}
	return nil, invalid(field+".match", "unknown kind %q: want glob or regex", clip(string(kind)))
}
