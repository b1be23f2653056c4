package policy_test

import (
	"slices"
	"strings"

	"holm/policy"
)

// The file and exec layers as the design's page says them: every row is looked at,
// paths are lists of segments, commands lists of words.

// call decides all layers of a call.
func (f reference) call(req policy.Request) (policy.Effect, policy.Step) {
	decision, step := f.decide(req)
	for _, res := range req.Resources {
		d, s := f.resource(req, res)
		switch {
		case s == 0 || width(d) > width(decision):
		case width(d) < width(decision), s == policy.StepApproved && step != policy.StepApproved:
			decision, step = d, s
		}
	}
	return decision, step
}

func (f reference) resource(req policy.Request, res policy.Resource) (policy.Effect, policy.Step) {
	switch {
	case !refJudgeable(res):
		return policy.Deny, policy.StepInvalid
	case res.Type == policy.TypeFile:
		return f.part(req, res, refPart{})
	}
	var decision policy.Effect
	var step policy.Step
	for _, part := range refParts(res.Command) {
		d, s := f.part(req, res, part)
		switch {
		case s == 0:
		case step == 0, width(d) < width(decision), d == decision && (s == policy.StepDeny || s == policy.StepApproved):
			decision, step = d, s
		}
	}
	return decision, step
}

// part decides about a file, or about one part of a command.
func (f reference) part(req policy.Request, res policy.Resource, part refPart) (policy.Effect, policy.Step) {
	var against, allows, held []policy.Row
	blind := map[string]bool{}
	closed := false
	for _, r := range f.rows {
		if r.ResourceType != res.Type || !refSandbox(r, res) {
			continue
		}
		of := refAbout(r, res, part)
		switch {
		case r.Origin == policy.OriginApproval:
			if of == yes && refGrants(r.Grants, req.Principal) && refDigest(r, req) {
				held = append(held, r)
			}
		case r.Effect == policy.Allow:
			closed = true
			if of == yes {
				allows = append(allows, r)
			}
		case of != no:
			against = append(against, r)
			blind[r.ID] = of == unknown
		}
	}
	speaks := func(r policy.Row) bool { return refGrants(r.Grants, req.Principal) }
	allows = slices.DeleteFunc(refMostSpecific(allows), func(r policy.Row) bool { return !speaks(r) })
	denies := slices.DeleteFunc(effectRows(against, policy.Deny), func(r policy.Row) bool { return !speaks(r) })
	asks := slices.DeleteFunc(effectRows(against, policy.RequireApproval), func(r policy.Row) bool { return !speaks(r) || refGivesWay(r, allows) })
	switch {
	case slices.ContainsFunc(denies, func(r policy.Row) bool { return !blind[r.ID] }):
		return policy.Deny, policy.StepDeny
	case len(denies) > 0:
		return policy.Deny, policy.StepInvalid
	case len(asks) > 0 && refAnswered(asks, held):
		return policy.Allow, policy.StepApproved
	case len(asks) > 0:
		return policy.RequireApproval, policy.StepApproval
	case len(allows) > 0 || len(held) > 0:
		return policy.Allow, policy.StepAllow
	case closed:
		return policy.Deny, policy.StepNoGrant
	}
	return "", 0
}

// refGivesWay: a row that asks about any command leaves out what a row allows that is
// about less in every respect.
func refGivesWay(ask policy.Row, allows []policy.Row) bool {
	if ask.ResourceType != policy.TypeExec || ask.Scope.Command != "*" {
		return false
	}
	return slices.ContainsFunc(allows, func(r policy.Row) bool {
		people := slices.Contains(ask.Grants, policy.Any()) || !slices.ContainsFunc(r.Grants, func(g policy.Grant) bool { return !slices.Contains(ask.Grants, g) })
		sandbox := ask.Scope.Sandbox == "" || ask.Scope.Sandbox == "*" || ask.Scope.Sandbox == r.Scope.Sandbox
		cwd := ask.Scope.CWD == "" || r.Scope.CWD != "" && refWithin(r.Scope.CWD, ask.Scope.CWD)
		return r.Scope.Command != "*" && people && sandbox && cwd
	})
}

// refPart is one command of the few texts that the properties use: words, ends of
// commands, variables, stars.
type refPart struct {
	words   []string
	unclear bool
	several bool // the text has more than this part
}

func refParts(text string) []refPart {
	if strings.Contains(text, "\x00") {
		return []refPart{{unclear: true}}
	}
	var parts []refPart
	for piece := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ';' || c == '\n' }) {
		p := refPart{words: refWords(piece)}
		if len(p.words) > 0 {
			p.unclear = strings.Contains(piece, "$") || strings.Contains(p.words[0], "*")
			parts = append(parts, p)
		}
	}
	for i := range parts {
		parts[i].several = len(parts) > 1
	}
	return parts
}

func refJudgeable(r policy.Resource) bool {
	sound := func(path string) bool {
		return strings.HasPrefix(path, "/") && !strings.Contains(path, "\x00")
	}
	if r.Type == policy.TypeFile {
		return sound(r.Path)
	}
	return len(refWords(r.Command)) > 0 && (r.CWD == "" || sound(r.CWD))
}

func refSandbox(r policy.Row, res policy.Resource) bool {
	fits := func(scope, name string) bool { return scope == "" || scope == "*" || scope == name }
	name := res.Sandbox
	if name == "" {
		name = "default"
	}
	return fits(r.Scope.Sandbox, name) && (res.Type == policy.TypeExec || fits(r.Scope.Mode, res.Mode))
}

func refAbout(r policy.Row, res policy.Resource, part refPart) answer {
	approved := r.Origin == policy.OriginApproval
	if res.Type == policy.TypeFile {
		if approved {
			return answerOf(slices.Equal(refSegments(res.Path), refSegments(refPathOf(r))))
		}
		return answerOf(refWithin(res.Path, refPathOf(r)))
	}
	of := refCommand(r.Scope.Command, res.Command, part, r.Effect != policy.Allow)
	if approved {
		of = answerOf(slices.Equal(refWords(r.Scope.Command), refWords(res.Command)))
	}
	switch {
	case of == no || r.Scope.CWD == "":
		return of
	case res.CWD == "" && r.Effect != policy.Allow:
		return of
	case res.CWD == "" || approved && !slices.Equal(refSegments(res.CWD), refSegments(r.Scope.CWD)):
		return no
	case !refWithin(res.CWD, r.Scope.CWD):
		return no
	}
	return of
}

func refPathOf(r policy.Row) string {
	if r.Scope.Path != "" {
		return r.Scope.Path
	}
	return r.ResourceKey
}

// refMostSpecific keeps the rows of which none is more specific.
func refMostSpecific(rows []policy.Row) []policy.Row {
	best := 0
	for _, r := range rows {
		best = max(best, refRank(r))
	}
	return slices.DeleteFunc(rows, func(r policy.Row) bool { return refRank(r) < best })
}

func refRank(r policy.Row) int {
	if r.ResourceType == policy.TypeFile {
		return 1 + len(refSegments(refPathOf(r)))
	}
	rank := 5
	switch {
	case r.Scope.Command == "*":
		rank = 1
	case strings.Contains(r.Scope.Command, "*"):
		rank = 3
	}
	if r.Scope.CWD != "" {
		rank++
	}
	return rank
}

// refSegments are the segments of an absolute path; ".." at the root stays there.
func refSegments(path string) []string {
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, segment)
		}
	}
	return kept
}

func refWithin(path, dir string) bool {
	p, d := refSegments(path), refSegments(dir)
	return len(p) >= len(d) && slices.Equal(p[:len(d)], d)
}

// refWords takes a command apart at blanks and tabs.
func refWords(command string) []string {
	return strings.FieldsFunc(command, func(c rune) bool { return c == ' ' || c == '\t' })
}

// refCommand is unknown where a row against the call counts since the part cannot be judged.
func refCommand(pattern, text string, part refPart, against bool) answer {
	want := refWords(pattern)
	switch {
	case slices.Equal(want, []string{"*"}), !strings.Contains(pattern, "*") && slices.Equal(want, refWords(text)):
		return yes
	case strings.Contains(pattern, ";") && against && strings.Contains(pattern, "*") && (part.several || part.unclear):
		return yes // it is about more than one command, as the text is
	case !strings.Contains(pattern, ";") && (against || !part.unclear) && refMeets(want, part.words, against):
		return yes
	case against && part.unclear:
		return unknown
	}
	return no
}

func refMeets(want, words []string, against bool) bool {
	switch {
	case len(words) == 0:
		return false
	case !against:
		return refFit(want, words)
	case want[0] == "*":
		return refMayFit(want, words)
	case refGlob(starTokens(want[0]), words[0]) && refMayFit(want[1:], words[1:]):
		return true
	}
	// No program of the properties is known: it may run its arguments.
	return !strings.Contains(words[0], "*") && !strings.Contains(want[0], "*") && slices.Contains(words[1:], want[0])
}

// refMayFit takes words with a variable or a star for any words.
func refMayFit(want, got []string) bool {
	switch {
	case len(got) > 0 && strings.ContainsAny(got[0], "$*"):
		return refMayFit(want, got[1:]) || len(want) > 0 && refMayFit(want[1:], got)
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "*":
		return refMayFit(want[1:], got) || len(got) > 0 && refMayFit(want, got[1:])
	}
	return len(got) > 0 && refGlob(starTokens(want[0]), got[0]) && refMayFit(want[1:], got[1:])
}

func refFit(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "*":
		return refFit(want[1:], got) || len(got) > 0 && refFit(want, got[1:])
	}
	return len(got) > 0 && refGlob(starTokens(want[0]), got[0]) && refFit(want[1:], got[1:])
}

// starTokens reads text in which only * is special.
func starTokens(pattern string) []token {
	var out []token
	for _, c := range pattern {
		if c == '*' {
			out = append(out, token{stretch: anyText})
		} else {
			out = append(out, token{char: c})
		}
	}
	return out
}
