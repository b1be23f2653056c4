package audit

import (
	"context"
	"regexp"
	"strings"
)

type traceKey struct{}

// traceParent is the W3C header of that name, of any version: the trace's id
// is the second part.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)

// WithTrace has the records that are written with the context name the trace
// of a W3C traceparent. One that cannot be used changes nothing.
func WithTrace(ctx context.Context, parent string) context.Context {
	found := traceParent.FindStringSubmatch(parent)
	if found == nil || strings.HasPrefix(parent, "ff") || strings.Trim(found[1], "0") == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, found[1])
}

// TraceOf gives the id of the trace that ctx belongs to, or "".
func TraceOf(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// withTrace puts the id into an encoded object; other data stay as they are.
func withTrace(data []byte, id string) []byte {
	rest, ok := strings.CutPrefix(string(data), "{")
	if id == "" || !ok {
		return data
	}
	if rest != "}" {
		rest = "," + rest
	}
	return []byte(`{"traceId":"` + id + `"` + rest)
}
