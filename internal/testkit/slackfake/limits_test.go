package slackfake

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitsAreThoseOfSlack compares the table with facts gathered by others,
// where they lie beside the repository.
func TestLimitsAreThoseOfSlack(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "data", "slack-block-limits.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var table map[string]any
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	for path, limit := range limits {
		if got := lookUp(table, path); got != float64(limit) {
			t.Errorf("%s is %d here and %v there", path, limit, got)
		}
	}
}

func lookUp(table any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		fields, _ := table.(map[string]any)
		table = fields[key]
	}
	return table
}
