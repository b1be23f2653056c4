package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// toHolm tells that a call goes to Holm itself, as an MCP server of Claude Code's: it
// meets the gate there, and is not asked about twice. What the client calls that
// server is its own affair; it counts where every server of that name, in the files
// in which Claude Code keeps them, is at the address of this Holm.
func (c claudeCodeCall) toHolm(address string) bool {
	rest, ok := strings.CutPrefix(c.Tool, "mcp__")
	if !ok {
		return false
	}
	found := false
	for name, urls := range c.mcpServers() {
		if !strings.HasPrefix(rest, name+"__") {
			continue
		}
		for _, at := range urls {
			if !sameEndpoint(at, address) {
				return false
			}
			found = true
		}
	}
	return found
}

// mcpServers are the servers that Claude Code may have, as names are written in those
// of tools, with the address of each entry; it is empty for what is no HTTP server.
func (c claudeCodeCall) mcpServers() map[string][]string {
	type entries map[string]struct {
		URL string `json:"url"`
	}
	type file struct {
		Servers  entries `json:"mcpServers"`
		Projects map[string]struct {
			Servers entries `json:"mcpServers"`
		} `json:"projects"`
	}
	all := map[string][]string{}
	take := func(servers entries) {
		for name, s := range servers {
			name = notInNames.ReplaceAllString(name, "_")
			all[name] = append(all[name], expandVariables(s.URL))
		}
	}
	for _, path := range c.serverFiles() {
		text, err := os.ReadFile(path)
		var f file
		if err != nil || json.Unmarshal(text, &f) != nil {
			continue // what it has, nobody knows: its servers are asked about
		}
		take(f.Servers)
		for _, project := range f.Projects {
			take(project.Servers)
		}
	}
	return all
}

// notInNames are the characters for which names of tools have an underscore.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// serverFiles are the user's own file, and those of the project and of the folders
// above the one in which the call is made.
func (c claudeCodeCall) serverFiles() (paths []string) {
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".claude.json"), filepath.Join(home, ".claude", ".mcp.json"))
	}
	if dir := os.Getenv("CLAUDE_PROJECT_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, ".mcp.json"))
	}
	for dir := c.CWD; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		paths = append(paths, filepath.Join(dir, ".mcp.json"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return paths
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expandVariables does what Claude Code does to the settings of servers.
func expandVariables(text string) string {
	return variable.ReplaceAllStringFunc(text, func(part string) string {
		m := variable.FindStringSubmatch(part)
		if value, ok := os.LookupEnv(m[1]); ok {
			return value
		}
		return strings.TrimPrefix(m[2], ":-")
	})
}

// sameEndpoint tells whether an address is that of the MCP endpoint of the Holm at
// another one.
func sameEndpoint(given, holm string) bool {
	a, err := url.Parse(given)
	if err != nil || a.User != nil {
		return false
	}
	b, err := url.Parse(holm)
	return err == nil && a.Host != "" && strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host) &&
		strings.TrimRight(a.Path, "/") == strings.TrimRight(b.Path, "/")+"/mcp"
}
