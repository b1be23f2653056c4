package policy

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// A match costs time in proportion to the value's length times the size of the
// compiled expression, some 30 ns for each byte and instruction at worst. So that
// nobody who may write a row can stall the calls, both are bounded: the size when
// the row is written, the length by what the size leaves of the work. A longer
// value cannot be judged. An expression as people write it has some twenty
// instructions and judges values of up to 400 kB.
const (
	maxInstructions = 4096
	maxRegexWork    = 8 << 20 // bytes times instructions: a quarter of a second
)

// regexMatcher matches whole values against a regular expression.
type regexMatcher struct {
	expression *regexp.Regexp
	longest    int // value, in bytes
}

func (m regexMatcher) match(text string) verdict {
	if len(text) > m.longest {
		return unjudged
	}
	return verdictOf(m.expression.MatchString(text))
}

// compileRegex makes a matcher of a pattern in RE2 syntax. It anchors the parsed
// pattern, not its text: text such as `a)|(b` or `\Qa` would step out of anchors
// that are written round it.
func compileRegex(field, pattern string) (matcher, *InvalidError) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, regexError(field, pattern, err)
	}
	whole := &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
		{Op: syntax.OpBeginText}, tree, {Op: syntax.OpEndText},
	}}
	expression, err := regexp.Compile(whole.String())
	program, sizeErr := syntax.Compile(whole.Simplify())
	if err != nil || sizeErr != nil || len(program.Inst) > maxInstructions {
		return nil, invalid(field, "is too complex")
	}
	return regexMatcher{expression, maxRegexWork / len(program.Inst)}, nil
}

func regexError(field, pattern string, err error) *InvalidError {
	bad := &syntax.Error{Code: syntax.ErrInternalError}
	errors.As(err, &bad)
	position := strings.Index(pattern, bad.Expr) + 1
	return invalid(field, "%s: %s", bad.Code, clip(bad.Expr)).at(position)
}
