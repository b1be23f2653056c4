package policy

import "unicode/utf8"

// patternCache makes each distinct pattern and path of a set once, and each
// distinct condition that is its row's only one: rows share them, so that a decision
// finds them in the processor's cache.
type patternCache struct {
	made  map[patternKey]matcher
	paths map[string][]step
	only  map[Condition][]condition
}

type patternKey struct {
	kind MatchKind
	text string
}

func newPatternCache() *patternCache {
	return &patternCache{made: map[patternKey]matcher{}, paths: map[string][]step{}, only: map[Condition][]condition{}}
}

func (p *patternCache) path(field, arg string) ([]step, *InvalidError) {
	if path, ok := p.paths[arg]; ok {
		return path, nil
	}
	path, err := parsePath(field, arg)
	if err != nil {
		return nil, err
	}
	p.paths[arg] = path
	return path, nil
}

func (p *patternCache) matcher(kind MatchKind, text string) (matcher, *InvalidError) {
	key := patternKey{kind, text}
	if m, ok := p.made[key]; ok {
		return m, nil
	}
	m, err := compilePattern(kind, text)
	if err != nil {
		return nil, err
	}
	p.made[key] = m
	return m, nil
}

// compilePattern reports fields as they are within a condition.
func compilePattern(kind MatchKind, text string) (matcher, *InvalidError) {
	if len(text) > MaxPattern {
		return nil, invalid(".pattern", "is longer than %d bytes", MaxPattern).at(MaxPattern + 1)
	}
	if !utf8.ValidString(text) {
		return nil, invalid(".pattern", "is not valid UTF-8").at(invalidUTF8(text) + 1)
	}
	switch kind {
	case MatchGlob, "":
		return compileGlob(".pattern", text)
	case MatchRegex:
		return compileRegex(".pattern", text)
	}
	return nil, invalid(".match", "unknown kind %q: want glob or regex", clip(string(kind)))
}
