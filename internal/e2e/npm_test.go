//go:build npm

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// npmServer is the entry of an installed npm server; `npm ci` in the folder npm
// installs it.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("npm", "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run npm ci in internal/e2e/npm", err)
	}
	return path
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (text string, r *mcp.CallToolResult) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, content := range r.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, r
}

func TestNPMServerEverything(t *testing.T) {
	p := newProcess(t)
	p.holm("add", "server", "everything", "--command", "node "+npmServer(t, "server-everything")+" stdio")
	key := p.field("key", "add", "agent", "npm")
	p.holm("grant", "npm", "everything")
	p.holm("grant", "npm", "everything", "--tool", "get-sum", "--ask")
	session := p.connect(key, "0s")

	if names := toolNames(t, session); len(names) < 10 {
		t.Fatalf("tools: %v", names)
	}
	if text, r := callTool(t, session, "mcp__everything__echo", map[string]any{"message": "hälló"}); r.IsError || !strings.Contains(text, "hälló") {
		t.Errorf("echo: %q, %v", text, r.IsError)
	}
	if _, r := callTool(t, session, "mcp__everything__get-structured-content", map[string]any{"location": "New York"}); r.StructuredContent == nil {
		t.Error("structured content did not come through")
	}
	sum := map[string]any{"a": 2, "b": 3}
	if text, r := callTool(t, session, "mcp__everything__get-sum", sum); !r.IsError || !strings.Contains(text, "Approval required") {
		t.Fatalf("get-sum before approval: %q", text)
	}
	var open []struct {
		ShortID int
		Args    json.RawMessage
	}
	if err := json.Unmarshal([]byte(p.holm("approvals", "list", "--agent", "npm", "--json")), &open); err != nil || len(open) != 1 {
		t.Fatalf("open requests: %+v (%v)", open, err)
	}
	p.holm("approvals", "approve", "1", "--agent", "npm", "--single")
	if text, r := callTool(t, session, "mcp__everything__get-sum", sum); r.IsError || !strings.Contains(text, "5") {
		t.Errorf("get-sum after approval: %q", text)
	}
}

func TestNPMServerFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"public", "secret"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "a.txt"), []byte("text of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := newProcess(t)
	p.holm("add", "server", "fs", "--command", "node "+npmServer(t, "server-filesystem")+" "+dir)
	key := p.field("key", "add", "agent", "npm")
	p.holm("grant", "npm", "fs", "--tool", "read_text_file", "--args", "path="+dir+"/public/**")
	session := p.connect(key, "0s")

	if names := toolNames(t, session); len(names) != 1 || names[0] != "mcp__fs__read_text_file" {
		t.Errorf("tools: %v, want the one that is allowed", names)
	}
	if text, r := callTool(t, session, "mcp__fs__read_text_file", map[string]any{"path": dir + "/public/a.txt"}); r.IsError || text != "text of public" {
		t.Errorf("public file: %q, %v", text, r.IsError)
	}
	for _, path := range []string{dir + "/secret/a.txt", dir + "/public/../secret/a.txt"} {
		if text, r := callTool(t, session, "mcp__fs__read_text_file", map[string]any{"path": path}); !r.IsError || strings.Contains(text, "text of") {
			t.Errorf("%s: %q, %v", path, text, r.IsError)
		}
	}
}
