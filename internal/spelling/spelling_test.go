package spelling_test

import (
	"testing"

	"holm/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"approve", "approve", 0},
		{"aprove", "approve", 1}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2},
	} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"push", "pull", "log"}
	for word, want := range map[string]string{"psh": "push", "log": "log", "lag": "log", "pusl": "pull", "frobnicate": ""} {
		if got := spelling.Nearest(word, known, 2); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
