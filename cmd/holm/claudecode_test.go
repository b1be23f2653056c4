package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holm/internal/client"
)

// What a call reaches, as type, key, scope and tool; an error in capitals.
func TestWhatAClaudeCodeCallReaches(t *testing.T) {
	t.Setenv("HOME", "/home/of/me")
	for call, want := range map[string]string{
		`Bash {"command":"ls  -l\nrm x","description":"d","timeout":5}`: `exec "ls  -l\nrm x" {"cwd":"/w"} "" {"command":"ls  -l\nrm x","cwd":"/w","timeout":5}`,
		`Bash {"command":""}`:                                       `ERROR no command`,
		`Bash {"command":7}`:                                        `ERROR no command`,
		`Read {"file_path":"/a/../b"}`:                              `file "/b" {"mode":"read"} "" {"file_path":"/a/../b","path":"/b"}`,
		`Read {"file_path":"sub/x"}`:                                `file "/w/sub/x" {"mode":"read"} "" {"file_path":"sub/x","path":"/w/sub/x"}`,
		`Read {"file_path":"~/x"}`:                                  `file "/home/of/me/x" {"mode":"read"} "" {"file_path":"~/x","path":"/home/of/me/x"}`,
		`Read {"file_path":"~root/x"}`:                              `ERROR not absolute`,
		`Monitor {"command":"tail -f x","description":"d"}`:         `exec "tail -f x" {"cwd":"/w"} "" {"command":"tail -f x","cwd":"/w"}`,
		`Whatever {"Cmd":"rm x","workdir":"sub"}`:                   `exec "rm x" {"cwd":"/w/sub"} "" {"Cmd":"rm x","command":"rm x","cwd":"/w/sub","workdir":"sub"}`,
		`Whatever {"commands":["a","b"]}`:                           `ERROR no commands`,
		`Whatever {"command":"a","script":"b"}`:                     `ERROR several commands`,
		`Whatever {"command":"a","cwd":"/x","workdir":"/y"}`:        `ERROR several working directories`,
		`Whatever {"command":null}`:                                 `ERROR no command`,
		`PowerShell {"command":"git log \\; rm x"}`:                 `exec "pwsh -Command 'git log \\; rm x'" {"cwd":"/w"} "" {"command":"pwsh -Command 'git log \\; rm x'","cwd":"/w"}`,
		`Run {"command":"dir","shell":"PowerShell"}`:                `exec "pwsh -Command dir" {"cwd":"/w"} "" {"command":"pwsh -Command dir","cwd":"/w","shell":"PowerShell"}`,
		`BashOutput {"bash_id":"1"}`:                                `tool "claude_code__BashOutput"  "" {"bash_id":"1"}`,
		`KillShell {"shell_id":"1"}`:                                `tool "claude_code__KillShell"  "" {"shell_id":"1"}`,
		`Read {"file_path":"/w/x","offset":3,"limit":9,"mode":"m"}`: `file "/w/x" {"mode":"read"} "" {"file_path":"/w/x","limit":9,"offset":3,"path":"/w/x"}`,
		`Read {"file_path":"C:\\Users\\Ann\\x.TXT"}`:                `file "/c:/users/ann/x.txt" {"mode":"read"} "" {"file_path":"C:\\Users\\Ann\\x.TXT","path":"/c:/users/ann/x.txt"}`,
		`Read {"file_path":"C:\\a\\..\\..\\b"}`:                     `file "/c:/b" {"mode":"read"} "" {"file_path":"C:\\a\\..\\..\\b","path":"/c:/b"}`,
		`Read {"file_path":"C:x"}`:                                  `ERROR drive's own folder`,
		`Read {"file_path":"\\\\?\\C:\\x"}`:                         `ERROR another machine`,
		`Read {"file_path":"C:/PROGRA~1/x"}`:                        `ERROR as another`,
		`Read {"file_path":"C:/secret./x"}`:                         `ERROR as another`,
		`Read {"file_path":"C:/x:stream"}`:                          `ERROR as another`,
		`Read {"file_path":" /etc/shadow"}`:                         `ERROR white space`,
		`Read {"file_path":"\u00a0~/x"}`:                            `ERROR white space`,
		`Write {"file_path":"\ufeff/etc/x"}`:                        `ERROR white space`,
		`Grep {"pattern":"x","path":"\n/etc"}`:                      `ERROR white space`,
		`Edit {"file_path":"/w/.env "}`:                             `ERROR white space`,
		`Glob {"pattern":" /etc/*"}`:                                `ERROR cannot be judged`,
		`Edit {"file_path":"/a","old_string":"x","new_string":"y"}`: `file "/a" {"mode":"write"} "" {"file_path":"/a","new_string":"y","old_string":"x","path":"/a"}`,
		`MultiEdit {"file_path":"/a"}`:                              `file "/a" {"mode":"write"} "" {"file_path":"/a","path":"/a"}`,
		`NotebookEdit {"notebook_path":"/n"}`:                       `file "/n" {"mode":"write"} "" {"notebook_path":"/n","path":"/n"}`,
		`Grep {"pattern":"/etc"}`:                                   `file "/w" {"mode":"search"} "" {"path":"/w","pattern":"/etc"}`,
		`Grep {"pattern":"x","path":"../up"}`:                       `file "/up" {"mode":"search"} "" {"path":"/up","pattern":"x"}`,
		`Glob {"pattern":"**/*.go"}`:                                `file "/w" {"mode":"search"} "" {"path":"/w","pattern":"**/*.go"}`,
		`Glob {"pattern":"../*","path":"/a/b"}`:                     `file "/a" {"mode":"search"} "" {"path":"/a","pattern":"../*"}`,
		`Glob {"pattern":"/etc/ssh/*"}`:                             `file "/etc/ssh" {"mode":"search"} "" {"path":"/etc/ssh","pattern":"/etc/ssh/*"}`,
		`Glob {"pattern":"*/../../etc/*"}`:                          `ERROR cannot be judged`,
		`Glob {"pattern":"{../x,y}/*"}`:                             `ERROR cannot be judged`,
		`Glob {"pattern":"~/*"}`:                                    `ERROR cannot be judged`,
		`mcp__git_hub__a__b {"x":1}`:                                `mcp "git_hub"  "a__b" {"x":1}`,
		`mcp__git {}`:                                               `ERROR names no server and tool`,
		`WebFetch {"url":"u"}`:                                      `tool "claude_code__WebFetch"  "" {"url":"u"}`,
		`Task []`:                                                   `ERROR cannot be judged`,
		`Task "x"`:                                                  `ERROR cannot be judged`,
	} {
		tool, input, _ := strings.Cut(call, " ")
		text := fmt.Sprintf(`{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":%q,"tool_input":%s}`, tool, input)
		parsed, err := readClaudeCode([]byte(text))
		q := client.Check{}
		if err == nil {
			q, err = parsed.question()
		}
		if err != nil {
			if part, ok := strings.CutPrefix(want, "ERROR "); !ok || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %s", call, err, want)
			}
			continue
		}
		key, err := json.Marshal(q.Resource.Key)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %s %s %q %s", q.Resource.Type, key, q.Resource.Scope, q.Tool, q.Args)
		if q.Resource.Also != nil {
			got += fmt.Sprintf(" also %q", q.Resource.Also)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", call, got, want)
		}
	}
}

// Where a link leads is asked about beside the path that names it.
func TestWhereAClaudeCodePathLeads(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	make(os.MkdirAll(filepath.Join(dir, "secret", "deep"), 0o700))
	make(os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "link")))
	make(os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	for given, want := range map[string]string{
		"secret/x": "", "link": "secret", "link/deep": "secret/deep", "link/new/x": "secret/new/x", "link/../y": "", "dangling": "ERROR",
	} {
		call := claudeCodeCall{Tool: "Read", CWD: dir, Input: json.RawMessage(fmt.Sprintf(`{"file_path":%q}`, given))}
		q, err := call.question()
		switch {
		case want == "ERROR":
			if err == nil || !strings.Contains(err.Error(), "where it leads is not known") {
				t.Errorf("%s: %+v %v", given, q, err)
			}
		case err != nil:
			t.Errorf("%s: %v", given, err)
		case want == "" && q.Resource.Also != nil, want != "" && !slices.Equal(q.Resource.Also, []string{filepath.Join(dir, want)}):
			t.Errorf("%s: leads to %v, want %q", given, q.Resource.Also, want)
		}
	}
}

// On a disk that takes several spellings for one name, the one in the list counts.
func TestTheListedNameCounts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"Secret", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	same := func(e fs.DirEntry) bool { return e.Name() == "Secret" }
	for name, want := range map[string]string{"secret": "Secret", "other": "other", "Secret": "Secret"} {
		if got := listedName(name, entries, same); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := listedName("new", entries, func(fs.DirEntry) bool { return false }); got != "new" {
		t.Errorf("new: %s", got)
	}
}

// A call to Holm itself is Holm's, whatever the client calls it; what is called like
// Holm and is somewhere else is not.
func TestWhatClaudeCodeAsksOfHolm(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_PROJECT_DIR", "")
	t.Setenv("HOLM_URL", "http://127.0.0.1:4767")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".claude.json"), `{"mcpServers":{"gate keeper":{"type":"http","url":"http://127.0.0.1:4767/mcp?names=short"},"twice":{"url":"http://127.0.0.1:4767/mcp"}},
		"projects":{"/x":{"mcpServers":{"mine":{"url":"http://127.0.0.1:4767/mcp/"}}}}}`)
	write(filepath.Join(project, ".mcp.json"), `{"mcpServers":{"var":{"url":"${HOLM_URL:-http://x}/mcp"},"twice":{"command":"evil"},"holm":{"url":"http://evil.example/mcp"},"std":{"command":"holm"}}}`)
	for tool, want := range map[string]bool{
		"mcp__gate_keeper__approval_status": true, "mcp__gate_keeper__mcp__git__push": true, "mcp__mine__x": true, "mcp__var__x": true,
		"mcp__twice__x": false, "mcp__holm__x": false, "mcp__std__x": false, "mcp__unknown__x": false, "mcp__mine": false, "Bash": false,
	} {
		call := claudeCodeCall{Tool: tool, CWD: filepath.Join(project, "sub")}
		if got := call.toHolm("http://127.0.0.1:4767"); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}
