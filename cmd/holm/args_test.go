package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// called is what one call of holm gave.
type called struct {
	code     int
	out, err string
}

func runHolm(t *testing.T, args ...string) called {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
	return called{code: code, out: out.String(), err: errOut.String()}
}

func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

func TestExpandArgs(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"grant a s --args x=1 y=2", "grant a s --args=x=1 --args=y=2"},
		{"grant a s --args x=1 --ask", "grant a s --args=x=1 --ask"},
		{"grant a s --args=x=1 y=2", "grant a s --args=x=1 --args=y=2"},
		{"grant --args x=-5 y=--flag path[0].id=z a s", "grant --args=x=-5 --args=y=--flag --args=path[0].id=z a s"},
		{"grant --args x=1 --args y=2 a s", "grant --args=x=1 --args=y=2 a s"},
		{"grant a s --args x=1 -- y=2", "grant a s --args=x=1 -- y=2"},
		{"grant a s -- --args x=1", "grant a s -- --args x=1"},
		{"grant a s --args x", "grant a s --args=x"},
		{"grant a s --args", "grant a s --args"},
		{"grant a s --args files[].path=/x sql=re:^SELECT", "grant a s --args=files[].path=/x --args=sql=re:^SELECT"},
		{"add server x --env A=1 B=2", "add server x --env A=1 B=2"},
	} {
		if got := strings.Join(expandArgs(strings.Fields(c.in)), " "); got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"90d": "2027-02-28T12:00:00Z", "12h": "2026-12-01T00:00:00Z", "2027-01-31": "2027-01-31T00:00:00Z",
	} {
		if got, err := parseExpiry(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	if got, err := parseExpiry("", now); got != nil || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
	for _, text := range []string{"0d", "-1d", "soon", "d", "90", "-5h", "99999999d"} {
		if got, err := parseExpiry(text, now); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		wide, text string
		want       bool
	}{
		{"*", "mcp__git__push", true}, {"mcp__git__*", "mcp__git__push", true}, {"mcp__git__*", "mcp__git__*", true},
		{"mcp__git__p*h", "mcp__git__push", true}, {"mcp__git__push", "mcp__git__*", false}, {"mcp__*__log", "mcp__git__push", false},
		{"", "", true}, {"", "a", false}, {"a", "", false},
	} {
		if got := covers(c.wide, c.text); got != c.want {
			t.Errorf("covers(%q, %q) = %v", c.wide, c.text, got)
		}
	}
}
