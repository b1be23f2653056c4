package servers_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"holm/internal/servers"
	"holm/policy"
)

// TestWhatMapsSee: a path or command that a call holds is named; where it holds
// none, or what cannot be read as one, the resource says so.
func TestWhatMapsSee(t *testing.T) {
	for _, c := range []struct{ spec, args, want string }{
		{"t=file:read:path", `{"path":"/a/../b"}`, "read /b"},
		{"t=file:read:path", `{"path":""}`, "read "},
		{"t=file:read:path", `{}`, "read ?path"},
		{"t=file:read:path", ``, "read ?path"},
		{"t=file:read:path", ` null `, "read ?path"},
		{"t=file:read:path", `{"other":1}`, "read ?path"},
		{"t=file:read:path", `{"path":null}`, `read !"path" is null`},
		{"t=file:read:path", `{"path":1}`, `read !"path" is no text`},
		{"t=file:read:path", `{"path":["/a"]}`, `read !"path" is no text`},
		{"t=file:read:path", `{"path":{"path":"/a"}}`, `read !"path" is no text`},
		{"t=file:read:path", `{"Path":"/a"}`, `read ?path, read !"path" is written in another case`},
		{"t=file:read:path", `{"path":"/a","PATH":"/b"}`, `read /a, read !"path" is written in another case`},
		{"t=file:write:paths[]", `{"paths":["/a","/b"]}`, "write /a, write /b"},
		{"t=file:write:paths[]", `{"paths":"/a"}`, "write /a"},
		{"t=file:write:paths[]", `{"paths":[]}`, "write ?paths[]"},
		{"t=file:write:paths[]", `{}`, "write ?paths[]"},
		{"t=file:write:paths[]", `{"paths":null}`, `write !"paths" is null`},
		{"t=file:write:paths[]", `{"paths":["/a",null]}`, `write /a, write !"paths" is null`},
		{"t=file:write:paths[]", `{"paths":["/a",7]}`, `write /a, write !"paths" is no text`},
		{"t=file:write:paths[]", `{"paths":" [\"/etc/shadow\"]"}`, `write !"paths" is a text in place of a list`},
		{"t=file:write:out[].file", `{"out":[{"file":"/a"},{}]}`, "write /a, write ?out[].file"},
		{"t=file:write:out[].file", `{"out":[]}`, "write ?out[].file"},
		{"t=file:write:out[].file", `{"out":["/a"]}`, `write !"file" is wanted in what is no object`},
		{"t=file:write:out[].file", `{"out":[null]}`, `write !"file" is wanted in what is no object`},
		{"t=file:read:a.b", `{"a":{}}`, "read ?a.b"},
		{"t=file:read:a.b", `{"a":null}`, `read !"b" is wanted in what is no object`},
		{"t=file:read:a.b", `{"a":"{\"b\":\"/x\"}"}`, `read !"b" is wanted in what is no object`},
		{"t=file:read:a.b", `{"a.b":"/x"}`, "read /x"},
		{"t=file:read:a.b", `{"a.b":"/x","a":{"b":"/y"}}`, "read /x, read /y"},
		{"t=file:search:dir", `{"dir":"/a/"}`, "search /a"},
		{"t=exec:command", `{"command":"ls  -l"}`, "exec ls -l"},
		{"t=exec:command", `{}`, "exec ?command"},
		{"t=exec:command", `{"command":null}`, `exec !"command" is null`},
		{"t=exec:command:dir", `{"command":"ls","dir":"/x/"}`, "exec:/x ls"},
		{"t=exec:command:dir", `{"command":"ls"}`, "exec ls"},
		{"t=exec:command:dir", `{"dir":"/x"}`, "exec ?command"},
		{"t=exec:command:dir", `{"command":"ls","dir":null}`, `exec ls, exec !"dir" is null`},
		{"t=exec:command:dirs[]", `{"command":"ls","dirs":["/x","/y"]}`, `exec:/x/y ls, exec !"dirs[]" names several directories`},
	} {
		m, err := servers.ParseMap(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		args, err := policy.ParseArgs([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := told(servers.Resources("s", []servers.Map{m}, args)); got != c.want {
			t.Errorf("%s of %s:\n got %s\nwant %s", c.spec, c.args, got, c.want)
		}
	}
}

func told(all []policy.Resource) string {
	var texts []string
	for _, r := range all {
		what := cmp.Or(r.Mode, r.Type)
		if r.CWD != "" {
			what += ":" + r.CWD
		}
		switch {
		case r.Unreadable != nil:
			what += fmt.Sprintf(" !%v", r.Unreadable)
		case r.Missing != "":
			what += " ?" + r.Missing
		default:
			what += " " + r.Key()
		}
		texts = append(texts, what)
	}
	return strings.Join(texts, ", ")
}
