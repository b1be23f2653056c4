package steerholm

import (
	"fmt"
	"io"
	"strings"
)

// Kind says what happened to something that is not the same in Holm.
type Kind string

const (
	// Renamed was taken over under another name.
	Renamed Kind = "renamed"
	// Changed was taken over and means something else, narrower unless it says so.
	Changed Kind = "changed"
	// LeftOut was not taken over.
	LeftOut Kind = "left_out"
)

// Finding is one thing the operator should know. It holds names and patterns, no
// secrets.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Where string `json:"where"`
	What  string `json:"what"`
}

// always are the differences that depend on values and not on rules.
var always = []string{
	"A stdio server gets PATH, HOME and its own variables, not the whole environment of the daemon.",
	"Tools are called mcp__SERVER__TOOL; with ?names=short behind /mcp a tool keeps its bare name where no other server has it.",
	"Paths are cleaned before they are compared; dir/** includes dir, and **/name includes name.",
	"Conditions compare the JSON spelling of a value, each element of an array, and null as a value.",
	"Names of arguments may be dotted paths into objects.",
}

// WriteReport writes what was taken over and what is different, for people.
func (im *Import) WriteReport(w io.Writer) error {
	var b strings.Builder
	keys, rows := 0, 0
	for _, a := range im.Agents {
		rows += len(a.Rows)
		if a.Key != nil {
			keys++
		}
	}
	fmt.Fprintf(&b, "Steerholm schema %d: servers %d, agents %d, keys %d, rules %d\n", im.Schema, len(im.Servers), len(im.Agents), keys, rows)
	for _, section := range []struct {
		kind  Kind
		title string
	}{{LeftOut, "Left out"}, {Changed, "Changed"}, {Renamed, "Renamed"}} {
		im.writeSection(&b, section.kind, section.title)
	}
	b.WriteString("\nDifferent for all:\n")
	for _, line := range always {
		b.WriteString("  " + line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (im *Import) writeSection(b *strings.Builder, kind Kind, title string) {
	first := true
	for _, f := range im.Findings {
		if f.Kind != kind {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n%s:\n", title)
			first = false
		}
		fmt.Fprintf(b, "  %s: %s\n", plain(f.Where), plain(f.What))
	}
}

// plain keeps control characters of a foreign file out of a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}
