package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What a call reaches, as type, key, scope and tool; an error in capitals.
func TestWhatAClaudeCodeCallReaches(t *testing.T) {
	for call, want := range map[string]string{
		`Bash {"command":"ls  -l\nrm x","description":"d","timeout":5}`: `exec "ls  -l\nrm x" {"cwd":"/w"} "" {"command":"ls  -l\nrm x","timeout":5}`,
		`Bash {"command":""}`:                                       `ERROR no command`,
		`Bash {"command":7}`:                                        `ERROR no command`,
		`Read {"file_path":"/a/../b"}`:                              `file "/b" {"mode":"read"} "" {"file_path":"/a/../b","path":"/b"}`,
		`Read {"file_path":"sub/x"}`:                                `file "/w/sub/x" {"mode":"read"} "" {"file_path":"sub/x","path":"/w/sub/x"}`,
		`Read {"file_path":"~/x"}`:                                  `ERROR not absolute`,
		`Read {"file_path":" /etc/shadow"}`:                         `ERROR white space`,
		`Read {"file_path":"\u00a0~/x"}`:                            `ERROR white space`,
		`Write {"file_path":"\ufeff/etc/x"}`:                        `ERROR white space`,
		`Grep {"pattern":"x","path":"\n/etc"}`:                      `ERROR white space`,
		`Edit {"file_path":"/w/.env "}`:                             `ERROR white space`,
		`Glob {"pattern":" /etc/*"}`:                                `ERROR cannot be judged`,
		`Edit {"file_path":"/a","old_string":"x","new_string":"y"}`: `file "/a" {"mode":"write"} "" {"file_path":"/a","new_string":"y","old_string":"x","path":"/a"}`,
		`MultiEdit {"file_path":"/a"}`:                              `file "/a" {"mode":"write"} "" {"file_path":"/a","path":"/a"}`,
		`NotebookEdit {"notebook_path":"/n"}`:                       `file "/n" {"mode":"write"} "" {"notebook_path":"/n","path":"/n"}`,
		`Grep {"pattern":"/etc"}`:                                   `file "/w" {"mode":"read"} "" {"path":"/w","pattern":"/etc"}`,
		`Grep {"pattern":"x","path":"../up"}`:                       `file "/up" {"mode":"read"} "" {"path":"/up","pattern":"x"}`,
		`Glob {"pattern":"**/*.go"}`:                                `file "/w" {"mode":"read"} "" {"path":"/w","pattern":"**/*.go"}`,
		`Glob {"pattern":"../*","path":"/a/b"}`:                     `file "/a" {"mode":"read"} "" {"path":"/a","pattern":"../*"}`,
		`Glob {"pattern":"/etc/ssh/*"}`:                             `file "/etc/ssh" {"mode":"read"} "" {"path":"/etc/ssh","pattern":"/etc/ssh/*"}`,
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
		q, err := claudeCodeQuestion([]byte(text))
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
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", call, got, want)
		}
	}
}
