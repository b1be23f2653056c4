package steerholm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/crypto/bcrypt"
)

const emptyConfig = `{"servers": {}, "agents": {}}`

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// TestRefusals are folders of which nothing is taken over.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		dir  fstest.MapFS
		want string
	}{
		"no state":        {fstest.MapFS{}, "no config.json"},
		"newer schema":    {fstest.MapFS{"config.json": file(emptyConfig), "migrations/version": file("3\n")}, "schema 3"},
		"torn marker":     {fstest.MapFS{"config.json": file(emptyConfig), "migrations/version": file("")}, "no schema number"},
		"other digits":    {fstest.MapFS{"config.json": file(emptyConfig), "migrations/version": file("²")}, "no schema number"},
		"migration runs":  {fstest.MapFS{"config.json": file(emptyConfig), ".migrating.lock": file("1")}, "has not ended"},
		"half migrated":   {fstest.MapFS{"config.json": file(emptyConfig), ".migrating-v1/config.json": file(emptyConfig)}, "has not ended"},
		"torn config":     {fstest.MapFS{"config.json": file(`{"servers": {`)}, "config.json"},
		"empty config":    {fstest.MapFS{"config.json": file(``)}, "no JSON object"},
		"unknown field":   {fstest.MapFS{"config.json": file(`{"servers": {}, "denied": []}`)}, `"denied" is not known`},
		"null":            {fstest.MapFS{"config.json": file(`{"servers": null}`)}, `"servers" is null`},
		"key twice":       {fstest.MapFS{"config.json": file(`{"agents": {}, "agents": {}}`)}, "twice"},
		"two generations": {fstest.MapFS{"config.json": file(`{"agents": {}, "identities": {}}`)}, "identities"},
		"a folder":        {fstest.MapFS{"config.json/x": file("")}, "no regular file"},
	} {
		im, err := Read(c.dir, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v, want %q", name, im, err, c.want)
		}
	}
}

// TestLinksDoNotLeaveTheFolder opens a folder the way callers should.
func TestLinksDoNotLeaveTheFolder(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "a.json")
	rules := `{"agent_name": "a", "permissions": {"s": [{"name": "*"}]}}`
	write(t, outside, rules)
	write(t, filepath.Join(dir, "config.json"), `{"servers": {"s": {"name": "s", "command": "x"}}, "agents": {"a": {"name": "a", "key_prefix": ""}}}`)
	if err := os.Mkdir(filepath.Join(dir, "policies"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "policies", "a.json")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	im, err := Read(root.FS(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(im.Agents) != 1 || len(im.Agents[0].Rows) != 0 {
		t.Errorf("rules came from outside: %+v", im.Agents)
	}
	if !reports(im, "its rules") {
		t.Errorf("nothing was reported: %+v", im.Findings)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func reports(im *Import, text string) bool {
	for _, f := range im.Findings {
		if strings.Contains(f.What, text) {
			return true
		}
	}
	return false
}

// TestImportedKeyStillProves takes a whole way: a key's text, its hash as
// Steerholm stores it, and what is imported of both.
func TestImportedKeyStillProves(t *testing.T) {
	const text = "steer_sk_A7xK9mQ2w8E4r6T1y3U5i7O9p0S2d4F6"
	hash, err := bcrypt.GenerateFromPassword([]byte(text), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	// Python's bcrypt writes 2b, and hashes the same.
	stored := strings.Replace(string(hash), "$2a$", "$2b$", 1)
	im, err := Read(fstest.MapFS{"config.json": file(`{"agents": {"a": {"name": "a", "key_prefix": "` + text[:15] + `..."}}}`)},
		func(agent string) (string, error) { return map[string]string{"a": stored}[agent], nil })
	if err != nil {
		t.Fatal(err)
	}
	key := im.Agents[0].Key
	if key == nil || !strings.HasPrefix(text, key.Prefix) {
		t.Fatalf("key %+v, findings %+v", key, im.Findings)
	}
	if err := bcrypt.CompareHashAndPassword([]byte(key.Hash), []byte(text)); err != nil {
		t.Error(err)
	}
	if bcrypt.CompareHashAndPassword([]byte(key.Hash), []byte(text+"x")) == nil {
		t.Error("another key passed")
	}
}

// TestReportKeepsSecrets covers variables, credentials in addresses and control
// characters in names.
func TestReportKeepsSecrets(t *testing.T) {
	im, err := Read(fstest.MapFS{"config.json": file(`{"servers": {
		"a\u001b[2J": {"name": "a\u001b[2J", "command": "x", "env": {"K": "hidden", "bad-name": "hidden"}},
		"b": {"name": "b", "url": "https://user:hidden@example.com/mcp", "server_type": "http"},
		"c": {"name": "c", "url": "ftp://user:hidden@example.com/", "server_type": "http"},
		"d": {"name": "d", "command": "x", "env": {"K": ["hidden"]}}}}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := im.WriteReport(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hidden") || strings.ContainsRune(b.String(), 0x1b) {
		t.Errorf("the report tells too much:\n%q", b.String())
	}
	if len(im.Servers) != 2 || im.Servers[1].URL != "https://example.com/mcp" {
		t.Errorf("servers %+v", im.Servers)
	}
}
