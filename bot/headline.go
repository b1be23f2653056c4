package bot

import (
	"fmt"
	"regexp"
	"strings"

	"holm/approvals"
)

// What the first line says of a call, in characters.
const (
	maxCallName = 60
	maxTold     = 60
)

// headline is the first line of a card, which is all that a locked phone shows: the
// call with its most telling arguments, and the number to answer it by.
func headline(r approvals.Request) string {
	parts := []string{strings.ReplaceAll(callName(r), "·", "∙")} // the dots between the parts are Holm's
	if told := telling(r); told != "" {
		parts = append(parts, told)
	}
	parts = append(parts, fmt.Sprintf("#%d", r.ShortID))
	if r.Settings.Risk != "" {
		parts = append(parts, "risk: "+string(r.Settings.Risk))
	}
	line := strings.Join(parts, " · ")
	if r.Status == approvals.Pending {
		return stands(r) + " " + line
	}
	return stands(r) + " · " + line
}

// callName is what is asked for, as people speak of it.
func callName(r approvals.Request) string {
	switch r.ResourceType {
	case "file":
		return "file " + oneLine(r.Resource(), maxCallName)
	case "exec":
		return "run " + oneLine(r.Resource(), maxCallName)
	}
	key := strings.TrimPrefix(r.Resource(), "mcp__")
	if server, tool, ok := strings.Cut(key, "__"); ok && server != "" && tool != "" {
		return oneLine(tool, maxCallName) + " on " + oneLine(server, maxCallName)
	}
	return oneLine(r.Resource(), maxCallName)
}

// What may stand in the first line as it is: a name, and a short value that cannot
// pass for another part of the line.
var (
	plainName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,19}$`)
	plainValue = regexp.MustCompile(`^[\pL\pN][\pL\pN ._/:+@-]{0,39}$`)
)

// telling are the first two arguments that are short and plain, with a mark where
// there is more to the call: what does not fit is never cut here. Switches that
// are off say little.
func telling(r approvals.Request) string {
	args, readable := argumentsOf(r)
	if !readable {
		return ""
	}
	var told []string
	left, room := 0, maxTold
	for _, a := range args {
		part := a.Name + " " + a.Value
		plain := plainName.MatchString(a.Name) && plainValue.MatchString(a.Value) && !strings.Contains(a.Value, "U+") &&
			a.Value != "null" && a.Value != "false"
		if !plain || len(told) == 2 || length(part) > room {
			left++
			continue
		}
		told, room = append(told, part), room-length(part)
	}
	if left > 0 && len(told) > 0 {
		told = append(told, "…")
	}
	return strings.Join(told, " · ")
}
