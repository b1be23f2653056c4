package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"holm/internal/client"
	"holm/policy"
)

// claudeCodeCall is a call as Claude Code tells of it before it makes it.
type claudeCodeCall struct {
	Event string          `json:"hook_event_name"`
	CWD   string          `json:"cwd"`
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
}

// claudeCodeQuestion says what a call reaches, in the words of policy.
func claudeCodeQuestion(text []byte) (client.Check, error) {
	var call claudeCodeCall
	if err := json.Unmarshal(text, &call); err != nil {
		return client.Check{}, fmt.Errorf("the call is no JSON as Claude Code sends it: %w", err)
	}
	if call.Event != "PreToolUse" {
		return client.Check{}, fmt.Errorf("the hook belongs to PreToolUse, not to %q", call.Event)
	}
	if call.Tool == "" {
		return client.Check{}, errors.New("the call names no tool")
	}
	if _, err := policy.ParseArgs(call.Input); err != nil {
		return client.Check{}, fmt.Errorf("the call's input cannot be judged: %w", err)
	}
	input := map[string]json.RawMessage{}
	if len(call.Input) > 0 {
		if err := json.Unmarshal(call.Input, &input); err != nil || input == nil {
			return client.Check{}, errors.New("the call's input is no object")
		}
	}
	return call.question(input)
}

// filesOf are the tools that reach one file or folder: where its path is, and
// what they do there.
var filesOf = map[string]struct{ input, mode string }{
	"Read":         {"file_path", policy.ModeRead},
	"Write":        {"file_path", policy.ModeWrite},
	"Edit":         {"file_path", policy.ModeWrite},
	"MultiEdit":    {"file_path", policy.ModeWrite},
	"NotebookEdit": {"notebook_path", policy.ModeWrite},
	"NotebookRead": {"notebook_path", policy.ModeRead},
	"LS":           {"path", policy.ModeRead},
	"Glob":         {"path", policy.ModeRead},
	"Grep":         {"path", policy.ModeRead},
}

func (c claudeCodeCall) question(input map[string]json.RawMessage) (client.Check, error) {
	if c.Tool == "Bash" {
		return c.command(input)
	}
	if f, ok := filesOf[c.Tool]; ok {
		path, err := c.path(input, f.input)
		if err != nil {
			return client.Check{}, err
		}
		return fileQuestion(input, path, f.mode)
	}
	if rest, ok := strings.CutPrefix(c.Tool, "mcp__"); ok {
		server, tool, ok := strings.Cut(rest, "__")
		if !ok || server == "" || tool == "" {
			return client.Check{}, fmt.Errorf("%q names no server and tool", c.Tool)
		}
		return client.Check{Resource: client.Resource{Type: policy.TypeMCP, Key: server}, Tool: tool, Args: c.Input}, nil
	}
	return client.Check{Resource: client.Resource{Type: policy.TypeTool, Key: "claude_code__" + c.Tool}, Args: c.Input}, nil
}

// command leaves out the model's own words about what it wants to do: they are
// no part of the call, and no reason to ask again.
func (c claudeCodeCall) command(input map[string]json.RawMessage) (client.Check, error) {
	command, err := text(input, "command")
	if err != nil {
		return client.Check{}, err
	}
	if !filepath.IsAbs(c.CWD) {
		return client.Check{}, errors.New("the call names no working directory")
	}
	delete(input, "description")
	scope, err := json.Marshal(map[string]string{"cwd": filepath.Clean(c.CWD)})
	if err != nil {
		return client.Check{}, err
	}
	args, err := json.Marshal(input)
	if err != nil {
		return client.Check{}, err
	}
	return client.Check{Resource: client.Resource{Type: policy.TypeExec, Key: command, Scope: scope}, Args: args}, nil
}

// fileQuestion shows the input with the path as policy sees it.
func fileQuestion(input map[string]json.RawMessage, path, mode string) (client.Check, error) {
	quoted, err := json.Marshal(path)
	if err != nil {
		return client.Check{}, err
	}
	input["path"] = quoted
	delete(input, "mode") // it has none of that name; ours is added by the gate
	args, err := json.Marshal(input)
	if err != nil {
		return client.Check{}, err
	}
	scope, err := json.Marshal(map[string]string{"mode": mode})
	if err != nil {
		return client.Check{}, err
	}
	return client.Check{Resource: client.Resource{Type: policy.TypeFile, Key: path, Scope: scope}, Args: args}, nil
}

// path is the file or folder that a call reaches, absolute and clean. A search
// without a path is one in the working directory; a pattern that leads
// elsewhere takes its path with it.
func (c claudeCodeCall) path(input map[string]json.RawMessage, name string) (string, error) {
	search := c.Tool == "Glob" || c.Tool == "Grep"
	path := c.CWD
	if _, ok := input[name]; ok || !search {
		var err error
		if path, err = text(input, name); err != nil {
			return "", err
		}
	}
	path, err := c.absolute(path)
	if err != nil || c.Tool != "Glob" {
		return path, err
	}
	pattern, err := text(input, "pattern")
	if err != nil {
		return "", err
	}
	return below(path, pattern)
}

func (c claudeCodeCall) absolute(path string) (string, error) {
	switch {
	case padded(path):
		return "", fmt.Errorf("the path %q cannot be judged: it begins or ends with white space", path)
	case path == "" || strings.HasPrefix(path, "~"):
		return "", fmt.Errorf("the path %q cannot be judged: it is not absolute", path)
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case !filepath.IsAbs(c.CWD):
		return "", errors.New("the call names no working directory")
	}
	return filepath.Join(c.CWD, path), nil
}

// padded tells of white space at an end, as JavaScript sees it. Claude Code takes
// it off a path before it uses it: " /etc/passwd" is nothing in the working
// directory, and "/w/x " is /w/x.
func padded(path string) bool {
	return path != strings.Trim(strings.TrimSpace(path), "\uFEFF")
}

// below is the folder in which a pattern looks that is taken from a folder.
func below(dir, pattern string) (string, error) {
	if strings.HasPrefix(pattern, "~") || padded(pattern) {
		return "", fmt.Errorf("the pattern %q cannot be judged", pattern)
	}
	if filepath.IsAbs(pattern) {
		dir = "/"
	}
	open := false
	for part := range strings.SplitSeq(pattern, "/") {
		open = open || strings.ContainsAny(part, "*?[{\\!()")
		switch {
		case open && strings.Contains(part, ".."):
			return "", fmt.Errorf("the pattern %q cannot be judged", pattern)
		case !open:
			dir = filepath.Join(dir, part)
		}
	}
	return dir, nil
}

// text is a member that must be a text.
func text(input map[string]json.RawMessage, name string) (s string, err error) {
	if json.Unmarshal(input[name], &s) != nil || s == "" {
		return "", fmt.Errorf("the call's input has no %s", name)
	}
	return s, nil
}
