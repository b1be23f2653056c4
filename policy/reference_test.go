package policy_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"holm/policy"
)

// This file decides like the package, slowly and as the design's page says it:
// every row is looked at, arguments are decoded, globs backtrack. It knows the
// patterns that the generators make: text, ?, * and **.

type reference struct {
	rows     []policy.Row
	fallback policy.Effect
	declared func(string) ([]policy.Grant, bool)
}

func (f reference) decide(req policy.Request) (policy.Effect, policy.Step) {
	var matches []policy.Row
	var held []policy.Row // rows of approvals that hold for the caller
	for _, r := range f.rows {
		if !refKey(r, req) {
			continue
		}
		if r.Origin == policy.OriginApproval {
			if refGrants(r.Grants, req.Principal) && refConditions(r, req) && refDigest(r, req) {
				held = append(held, r)
			}
		} else if r.Effect == policy.Allow || refConditions(r, req) {
			matches = append(matches, r)
		}
	}
	speaking := slices.DeleteFunc(slices.Clone(matches), func(r policy.Row) bool {
		return !refGrants(r.Grants, req.Principal) || !refConditions(r, req)
	})
	asks := effectRows(speaking, policy.RequireApproval)
	switch {
	case len(effectRows(speaking, policy.Deny)) > 0:
		return policy.Deny, policy.StepDeny
	case len(asks) > 0 && refAnswered(asks, held):
		return policy.Allow, policy.StepApproved
	case len(asks) > 0:
		return policy.RequireApproval, policy.StepApproval
	case len(speaking) > 0 || len(held) > 0:
		return policy.Allow, policy.StepAllow
	case len(matches) > 0:
		return policy.Deny, policy.StepNoGrant
	}
	return f.undisputed(req)
}

func (f reference) undisputed(req policy.Request) (policy.Effect, policy.Step) {
	if req.Server == "" {
		if grants, ok := f.declared(req.Tool); ok {
			if refGrants(grants, req.Principal) {
				return policy.Allow, policy.StepAllow
			}
			return policy.Deny, policy.StepNoGrant
		}
	}
	return f.fallback, policy.StepDefault
}

func effectRows(rows []policy.Row, e policy.Effect) []policy.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r policy.Row) bool { return r.Effect != e })
}

func refAnswered(asks, held []policy.Row) bool {
	for _, ask := range asks {
		if !slices.ContainsFunc(held, func(r policy.Row) bool {
			return r.Scope.Approves == "" || r.Scope.Approves == ask.ID
		}) {
			return false
		}
	}
	return true
}

func refKey(r policy.Row, req policy.Request) bool {
	if r.ResourceType == policy.TypeFile || r.ResourceType == policy.TypeExec {
		return false
	}
	name := req.Tool
	if r.ResourceType == policy.TypeMCP {
		if name = req.Server; name == "" {
			return false
		}
	}
	return refGlob(tokens(r.ResourceKey, false), name)
}

func refGrants(grants []policy.Grant, p policy.Principal) bool {
	for _, g := range grants {
		switch g.Type {
		case policy.GrantAny:
			return true
		case policy.GrantRole:
			if p.Role == policy.Role(g.Value) {
				return true
			}
		case policy.GrantUser:
			if g.Value == p.UserID || p.UserID == "" && g.Value == "agent:"+p.AgentID {
				return true
			}
		case policy.GrantCircle:
			if p.Role != "" && slices.Contains(p.Circles, g.Value) {
				return true
			}
		}
	}
	return false
}

func refDigest(r policy.Row, req policy.Request) bool {
	return r.Scope.ArgsDigest == "" || r.Scope.ArgsDigest == policy.ArgsDigest(req.Args)
}

func refConditions(r policy.Row, req policy.Request) bool {
	var args map[string]any
	decoder := json.NewDecoder(bytes.NewReader(req.Args.Canonical()))
	decoder.UseNumber()
	if err := decoder.Decode(&args); err != nil {
		panic(err)
	}
	for _, c := range r.Scope.Args {
		found := refFind(args, strings.Split(c.Arg, "."))
		if r.Effect == policy.Allow && !found.allAre(c) || r.Effect != policy.Allow && !found.oneIs(c) {
			return false
		}
	}
	return true
}

// refFound are the values at a path: texts, those without a text form, and
// whether the path led to nothing somewhere.
type refFound struct {
	texts   []string
	opaque  bool
	missing bool
}

func (f refFound) allAre(c policy.Condition) bool {
	for _, text := range f.texts {
		if refMatch(c, text) != yes {
			return false
		}
	}
	if c.Required && (f.missing || len(f.texts) == 0) {
		return false
	}
	return !f.opaque
}

func (f refFound) oneIs(c policy.Condition) bool {
	return f.opaque || slices.ContainsFunc(f.texts, func(text string) bool { return refMatch(c, text) != no })
}

func refFind(value any, path []string) refFound {
	if len(path) == 0 {
		return refTexts(value)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return refFound{missing: value == nil, opaque: value != nil}
	}
	name, each := strings.CutSuffix(path[0], "[]")
	inner, ok := object[name]
	if !ok {
		return refFound{missing: true}
	}
	if !each {
		return refFind(inner, path[1:])
	}
	if text, ok := inner.(string); ok && strings.ContainsAny(text, ",\n") {
		return refFound{opaque: true} // perhaps a list
	}
	var all refFound
	for _, element := range refFlatten(inner) {
		one := refFind(element, path[1:])
		all = refFound{append(all.texts, one.texts...), all.opaque || one.opaque, all.missing || one.missing}
	}
	return all
}

func refFlatten(value any) []any {
	list, ok := value.([]any)
	if !ok {
		return []any{value}
	}
	var flat []any
	for _, element := range list {
		flat = append(flat, refFlatten(element)...)
	}
	return flat
}

func refTexts(value any) refFound {
	var found refFound
	for _, element := range refFlatten(value) {
		switch v := element.(type) {
		case map[string]any:
			found.opaque = true
		case string:
			found.texts = append(found.texts, v)
		case json.Number:
			found.texts = append(found.texts, v.String())
		case bool:
			found.texts = append(found.texts, map[bool]string{true: "true", false: "false"}[v])
		case nil:
			found.texts = append(found.texts, "null")
		}
	}
	return found
}

type answer int

const (
	no answer = iota
	yes
	unknown
)

func refMatch(c policy.Condition, text string) answer {
	if c.Match == policy.MatchRegex {
		where := regexp.MustCompile(c.Pattern)
		where.Longest()
		at := where.FindStringIndex(text)
		return answerOf(at != nil && at[0] == 0 && at[1] == len(text))
	}
	if c.Pattern == "true" && text != "true" { // the generators have no other pattern that is a truth value
		return map[bool]answer{true: no, false: unknown}[slices.Contains([]string{"", "null", "false"}, text)]
	}
	if !strings.Contains(c.Pattern, "/") {
		return answerOf(refGlob(tokens(c.Pattern, false), text))
	}
	if !strings.HasPrefix(c.Pattern, "/") && !strings.HasPrefix(c.Pattern, "./") && !strings.HasPrefix(c.Pattern, "~/") {
		return refSlashes(c.Pattern, text)
	}
	clean, ok := refClean(text)
	if !ok || strings.Contains(text, `\`) || strings.HasPrefix(clean, "~") && c.Pattern[0] != '~' || regexp.MustCompile(`^[a-zA-Z]:`).MatchString(clean) {
		return unknown
	}
	if c.Pattern[0] != '/' && strings.HasPrefix(clean, "/") {
		return no
	}
	pattern, _ := refClean(c.Pattern)
	return answerOf(refGlob(tokens(pattern, true), clean))
}

// refSlashes judges names that are no paths. It knows no escapes and backslashes.
func refSlashes(pattern, text string) answer {
	for segment := range strings.SplitSeq(text, "/") {
		segment, _, _ = strings.Cut(segment, ";")
		if segment = strings.Trim(segment, " "); segment == "." || segment == ".." {
			return unknown
		}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return unknown
	}
	absolute := strings.HasPrefix(pattern, "**")
	exact := (absolute || !strings.HasPrefix(text, "/")) && refGlob(tokens(pattern, true), text)
	form := refCollapse(text)
	if absolute && strings.HasPrefix(text, "/") {
		form = "/" + form
	}
	if loose := refGlob(tokens(refCollapse(pattern), true), form); loose != exact {
		return unknown
	}
	return answerOf(exact)
}

func refCollapse(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "/"), func(s string) bool { return s == "" }), "/")
}

func answerOf(ok bool) answer {
	if ok {
		return yes
	}
	return no
}

func refClean(text string) (string, bool) {
	if strings.Contains(text, "\x00") {
		return "", false
	}
	var kept []string
	for segment := range strings.SplitSeq(text, "/") {
		switch {
		case segment == "" || segment == ".":
		case segment == ".." && (len(kept) == 0 || strings.HasPrefix(text, "~") && len(kept) == 1):
			return "", false
		case segment == "..":
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, segment)
		}
	}
	clean := strings.Join(kept, "/")
	if strings.HasPrefix(text, "/") {
		return "/" + clean, true
	}
	if clean == "" {
		clean = "."
	}
	return clean, true
}

// token is a part of a glob: one character, or what fits a stretch of text.
type token struct {
	char    rune
	stretch func(text string) bool
}

func anyText(string) bool        { return true }
func inSegment(text string) bool { return !strings.Contains(text, "/") }
func segment(text string) bool   { return text != "" && inSegment(text) }
func below(text string) bool     { return text == "" || strings.HasPrefix(text, "/") }
func above(text string) bool     { return text == "" || strings.HasSuffix(text, "/") }

func tokens(pattern string, paths bool) []token {
	var out []token
	pattern = regexp.MustCompile(`\*{3,}`).ReplaceAllString(pattern, "**")
	rest := pattern
	for paths && strings.HasPrefix(rest, "**/") && rest != "**/" {
		out, rest = append(out, token{stretch: above}), rest[3:]
	}
	for rest != "" {
		begins := rest == pattern || strings.HasSuffix(strings.TrimSuffix(pattern, rest), "/")
		switch {
		case paths && (rest == "/**" || strings.HasPrefix(rest, "/**/")):
			out, rest = append(out, token{stretch: below}), rest[3:]
		case strings.HasPrefix(rest, "**"):
			out, rest = append(out, token{stretch: anyText}), strings.TrimLeft(rest, "*")
		case rest[0] == '*' && paths && begins && (rest == "*" || rest[1] == '/'):
			out, rest = append(out, token{stretch: segment}), rest[1:]
		case rest[0] == '*' && paths:
			out, rest = append(out, token{stretch: inSegment}), rest[1:]
		case rest[0] == '*':
			out, rest = append(out, token{stretch: anyText}), rest[1:]
		default:
			char := []rune(rest)[0]
			out, rest = append(out, token{char: char}), rest[len(string(char)):]
			if char == '?' && paths {
				out[len(out)-1].char = -2
			} else if char == '?' {
				out[len(out)-1].char = -1
			}
		}
	}
	return out
}

func refGlob(pattern []token, text string) bool {
	if len(pattern) == 0 {
		return text == ""
	}
	first, rest := pattern[0], pattern[1:]
	if first.stretch == nil {
		chars := []rune(text)
		if len(chars) == 0 || first.char >= 0 && chars[0] != first.char || first.char == -2 && chars[0] == '/' {
			return false
		}
		return refGlob(rest, string(chars[1:]))
	}
	for i := 0; i <= len(text); i++ {
		if first.stretch(text[:i]) && refGlob(rest, text[i:]) {
			return true
		}
	}
	return false
}
