package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// readClaudeCode reads a call that can be judged.
func readClaudeCode(text []byte) (call claudeCodeCall, err error) {
	if err := json.Unmarshal(text, &call); err != nil {
		return call, fmt.Errorf("the call is no JSON as Claude Code sends it: %w", err)
	}
	if call.Event != "PreToolUse" {
		return call, fmt.Errorf("the hook belongs to PreToolUse, not to %q", call.Event)
	}
	if call.Tool == "" {
		return call, errors.New("the call names no tool")
	}
	if _, err := policy.ParseArgs(call.Input); err != nil {
		return call, fmt.Errorf("the call's input cannot be judged: %w", err)
	}
	return call, nil
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
	"Glob":         {"path", policy.ModeSearch},
	"Grep":         {"path", policy.ModeSearch},
}

// question says what a call reaches, in the words of policy. A tool whose input has a
// command runs it, whatever the tool is called. What is neither that nor a file nor a
// server's is a tool of its own, which no row allows unless somebody has named it.
func (c claudeCodeCall) question() (client.Check, error) {
	input := map[string]json.RawMessage{}
	if len(c.Input) > 0 {
		if err := json.Unmarshal(c.Input, &input); err != nil || input == nil {
			return client.Check{}, errors.New("the call's input is no object")
		}
	}
	if rest, ok := strings.CutPrefix(c.Tool, "mcp__"); ok {
		server, tool, ok := strings.Cut(rest, "__")
		if !ok || server == "" || tool == "" {
			return client.Check{}, fmt.Errorf("%q names no server and tool", c.Tool)
		}
		return client.Check{Resource: client.Resource{Type: policy.TypeMCP, Key: server}, Tool: tool, Args: c.Input}, nil
	}
	if f, ok := filesOf[c.Tool]; ok {
		path, err := c.path(input, f.input)
		if err != nil {
			return client.Check{}, err
		}
		return fileQuestion(input, path, f.mode)
	}
	names := membersLike(input, commandNames)
	switch {
	case len(names) > 1:
		return client.Check{}, fmt.Errorf("the call's input has several commands: %s", strings.Join(names, ", "))
	case len(names) == 1:
		return c.command(input, names[0])
	case c.Tool == "Bash":
		return client.Check{}, errors.New("the call's input has no command")
	}
	return client.Check{Resource: client.Resource{Type: policy.TypeTool, Key: policy.HookTools + c.Tool}, Args: c.Input}, nil
}

// What tools call their commands and the folders that they run them in.
var (
	commandNames = strings.Fields("command commands cmd cmdline command_line commandline shell_command script bash powershell")
	folderNames  = strings.Fields("cwd workdir working_dir working_directory workingdirectory")
)

// membersLike are the members of an input that have one of the names, in any case.
func membersLike(input map[string]json.RawMessage, names []string) (found []string) {
	for name := range input {
		if slices.Contains(names, strings.ToLower(name)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// command leaves out the model's own words about what it wants to do: they are
// no part of the call, and no reason to ask again.
func (c claudeCodeCall) command(input map[string]json.RawMessage, name string) (client.Check, error) {
	command, err := text(input, name)
	if err != nil {
		return client.Check{}, err
	}
	cwd, err := c.folder(input)
	if err != nil {
		return client.Check{}, err
	}
	delete(input, "description")
	if c.powerShell(input) {
		// Its own grammar is not that of the shells that rows about commands know.
		command = commandText([]string{"pwsh", "-Command", command})
	}
	for member, value := range map[string]string{"command": command, "cwd": cwd} {
		if input[member], err = json.Marshal(value); err != nil {
			return client.Check{}, err
		}
	}
	scope, err := json.Marshal(map[string]string{"cwd": cwd})
	if err != nil {
		return client.Check{}, err
	}
	args, err := json.Marshal(input)
	if err != nil {
		return client.Check{}, err
	}
	return client.Check{Resource: client.Resource{Type: policy.TypeExec, Key: command, Scope: scope}, Args: args}, nil
}

// folder is the one that a command runs in.
func (c claudeCodeCall) folder(input map[string]json.RawMessage) (string, error) {
	names := membersLike(input, folderNames)
	if len(names) > 1 {
		return "", fmt.Errorf("the call's input has several working directories: %s", strings.Join(names, ", "))
	}
	if len(names) == 0 {
		path, err := c.absolute(cmp.Or(c.CWD, "."))
		if err != nil {
			return "", errors.New("the call names no working directory")
		}
		return path, nil
	}
	given, err := text(input, names[0])
	if err != nil {
		return "", err
	}
	return c.absolute(given)
}

// powerShell tells that PowerShell or Windows' own shell reads the command.
func (c claudeCodeCall) powerShell(input map[string]json.RawMessage) bool {
	var shell string
	_ = json.Unmarshal(input["shell"], &shell) // an odd one is as good as none
	for _, name := range []string{c.Tool, shell} {
		name = strings.ToLower(name)
		if strings.Contains(name, "powershell") || strings.Contains(name, "pwsh") || strings.Contains(name, "cmd") {
			return true
		}
	}
	return len(membersLike(input, []string{"powershell"})) > 0
}

// fileQuestion shows the input with the path as policy sees it, and with where the
// disk says that it leads.
func fileQuestion(input map[string]json.RawMessage, path, mode string) (client.Check, error) {
	quoted, err := json.Marshal(path)
	if err != nil {
		return client.Check{}, err
	}
	input["path"] = quoted
	delete(input, "mode") // it has none of that name; ours is added by the gate
	delete(input, "also") // likewise
	args, err := json.Marshal(input)
	if err != nil {
		return client.Check{}, err
	}
	scope, err := json.Marshal(map[string]string{"mode": mode})
	if err != nil {
		return client.Check{}, err
	}
	resource := client.Resource{Type: policy.TypeFile, Key: path, Scope: scope}
	real, err := onDisk(path)
	if err != nil {
		return client.Check{}, err
	}
	if real != path {
		resource.Also = []string{real}
	}
	return client.Check{Resource: resource, Args: args}, nil
}

// text is a member that must be a text.
func text(input map[string]json.RawMessage, name string) (s string, err error) {
	if json.Unmarshal(input[name], &s) != nil || s == "" {
		return "", fmt.Errorf("the call's input has no %s", name)
	}
	return s, nil
}
