package policy

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// regexMatcher matches whole values against a regular expression.
type regexMatcher struct {
	expression *regexp.Regexp
}

func (m regexMatcher) match(text string) verdict {
	if len(text) > maxRegexValue {
		return unjudged
	}
	return verdictOf(m.expression.MatchString(text))
}

// compileRegex anchors the parsed pattern, not its text: text such as `a)|(b` or
// `\Qa` would otherwise step out of the anchors.
func compileRegex(field, pattern string) (matcher, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, regexError(field, pattern, err)
	}
	whole := &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
		{Op: syntax.OpBeginText}, tree, {Op: syntax.OpEndText},
	}}
	expression, err := regexp.Compile(whole.String())
	if err != nil {
		return nil, regexError(field, pattern, err)
	}
	return regexMatcher{expression}, nil
}

func regexError(field, pattern string, err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return invalid(field, "%s", err.Error())
	}
	position := strings.Index(pattern, bad.Expr) + 1
	return invalid(field, "%s: %s", bad.Code, clip(bad.Expr)).at(position)
}
