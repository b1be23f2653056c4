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
	if !refJudgeable(res) {
		return policy.Deny, policy.StepInvalid
	}
	var against, allows, held []policy.Row
	closed := false
	for _, r := range f.rows {
		if r.ResourceType != res.Type || !refSandbox(r, res) {
			continue
		}
		of := refAbout(r, res)
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
		}
	}
	allows = refMostSpecific(allows)
	speaks := func(r policy.Row) bool { return refGrants(r.Grants, req.Principal) }
	asks := slices.DeleteFunc(effectRows(against, policy.RequireApproval), func(r policy.Row) bool { return !speaks(r) })
	switch {
	case slices.ContainsFunc(effectRows(against, policy.Deny), speaks):
		return policy.Deny, policy.StepDeny
	case len(asks) > 0 && refAnswered(asks, held):
		return policy.Allow, policy.StepApproved
	case len(asks) > 0:
		return policy.RequireApproval, policy.StepApproval
	case slices.ContainsFunc(allows, speaks) || len(held) > 0:
		return policy.Allow, policy.StepAllow
	case closed:
		return policy.Deny, policy.StepNoGrant
	}
	return "", 0
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

func refAbout(r policy.Row, res policy.Resource) answer {
	approved := r.Origin == policy.OriginApproval
	if res.Type == policy.TypeFile {
		if approved {
			return answerOf(slices.Equal(refSegments(res.Path), refSegments(refPathOf(r))))
		}
		return answerOf(refWithin(res.Path, refPathOf(r)))
	}
	of := refCommand(r.Scope.Command, res.Command)
	if approved {
		of = answerOf(slices.Equal(refWords(r.Scope.Command), refWords(res.Command)))
	}
	switch {
	case of == no || r.Scope.CWD == "":
		return of
	case res.CWD == "" && !approved:
		return unknown
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

func refCommand(pattern, text string) answer {
	want, got := refWords(pattern), refWords(text)
	switch {
	case slices.Equal(want, []string{"*"}):
		return yes
	case !strings.Contains(pattern, "*"):
		return answerOf(slices.Equal(want, got))
	case strings.ContainsAny(text, shellControl):
		return unknown
	}
	return answerOf(refFit(want, got))
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
