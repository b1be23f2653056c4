package bot_test

import (
	"strings"
	"testing"
)

// TestPanicInAChatIsASentence: who wrote is told at once, and the next text is
// handled.
func TestPanicInAChatIsASentence(t *testing.T) {
	w := newWorld(t)
	w.owner("ada")
	w.shop.explode = true
	if got := w.says("ada", "/tools"); !strings.Contains(got, "could not be done") {
		t.Errorf("answered %q", got)
	}
	w.shop.explode = false
	if got := w.says("ada", "/tools"); !strings.Contains(got, "refund") {
		t.Errorf("then answered %q", got)
	}
}
