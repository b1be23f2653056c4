package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultsNameTestsThatExist keeps docs/faults.md honest.
func TestFaultsNameTestsThatExist(t *testing.T) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(root))
	text, err := os.ReadFile(filepath.Join(dir, "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := testNames(t, dir)
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("docs/faults.md names no test")
	}
	for _, name := range named {
		if !have[name[1]] {
			t.Errorf("docs/faults.md names %s, which there is not", name[1])
		}
	}
}

// testNames are the tests of all packages.
func testNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	form := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range form.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
