package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "holm/"

type goPackage struct {
	ImportPath string
	Doc        string
	Imports    []string
}

// list asks the go command for all packages of the module.
func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "holm/...")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for d := json.NewDecoder(out); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(packages) < 15 {
		t.Fatalf("only %d packages were listed", len(packages))
	}
	return packages
}

// rules say what a package, or one below it, may import of this module. The
// first rule that fits a package holds; a path ending in / stands for all below.
var rules = []struct {
	pkg     string
	allowed []string
}{
	{"policy/rulestore", []string{"policy", "internal/"}},
	{"policy/shell", nil},
	{"policy", []string{"policy/shell"}},
	{"approvals", []string{"policy", "policy/rulestore", "internal/"}},
	{"gateway/upstream", []string{"internal/caught"}},
	{"gateway/builtin", []string{"gateway", "approvals", "policy", "policy/rulestore", "internal/"}},
	{"gateway", []string{"approvals", "policy", "policy/rulestore", "gateway/upstream", "internal/"}},
	{"bot", []string{"approvals", "policy", "policy/rulestore", "internal/"}},
	{"channels/channeltest", []string{"bot", "approvals", "policy"}}, // it tries what the bot renders
	{"channels/", []string{"bot", "internal/caught"}},
	{"channels", []string{"bot", "channels/"}},
	{"migrations", nil},
	{"examples/", nil},
	{"internal/httpapi", []string{"approvals", "policy", "policy/rulestore", "internal/"}},
	{"internal/client", []string{"approvals", "policy", "policy/rulestore", "internal/"}},
	{"internal/linking", []string{"approvals", "policy", "policy/rulestore", "internal/"}},
	{"internal/caught", []string{"internal/fault"}},
	{"internal/db", []string{"migrations", "internal/db/"}},
	{"internal/", []string{"policy", "migrations", "internal/"}},
	{"cmd/holm", []string{"approvals", "bot", "channels", "channels/", "gateway", "gateway/builtin", "policy", "policy/rulestore", "internal/"}},
}

func TestImportsFollowTheDesign(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, ok := allowedFor(name)
		if !ok {
			t.Errorf("%s has no rule: say in rules what it may import", name)
			continue
		}
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, module)
			if ours && !matches(allowed, imported) {
				t.Errorf("%s imports %s, which the design does not allow", name, imported)
			}
		}
	}
}

// shellGrammar is the one library that decisions rest on.
const shellGrammar = "mvdan.cc/sh/v3/syntax"

// TestPolicyIsPure keeps everything but the standard library and a grammar of shells
// out of policy, and of the former what touches the world: net/netip has addresses as
// values alone.
func TestPolicyIsPure(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath != module+"policy" && p.ImportPath != module+"policy/shell" {
			continue
		}
		for _, path := range p.Imports {
			if p.ImportPath == module+"policy/shell" && path == shellGrammar {
				continue
			}
			if strings.Contains(path, ".") || path == "os" || path == "net" || strings.HasPrefix(path, "net/") && path != "net/netip" || path == "database/sql" {
				t.Errorf("policy imports %s", path)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range list(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func allowedFor(name string) ([]string, bool) {
	for _, r := range rules {
		if matches([]string{r.pkg}, name) {
			return r.allowed, true
		}
	}
	return nil, false
}

func matches(paths []string, name string) bool {
	for _, path := range paths {
		if path == name || strings.HasSuffix(path, "/") && strings.HasPrefix(name, path) {
			return true
		}
	}
	return false
}
