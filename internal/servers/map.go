package servers

import (
	"fmt"
	"strings"

	"holm/internal/fault"
)

// Map says that an argument of an upstream tool names a file or a command, so
// that file and exec rows govern the call. Its sandbox is the server's name.
type Map struct {
	// Tool is the upstream's own name of the tool.
	Tool string `json:"tool"`
	// Type is file or exec.
	Type string `json:"type" enum:"file,exec"`
	// Mode of a file is read, write, or search: the tool reads all below the folder.
	Mode string `json:"mode,omitempty" enum:"read,write,search"`
	// Arg is the argument with the path or the command: a name, a dotted path,
	// with [] after a list.
	Arg string `json:"arg"`
	// CWD is the argument with the working directory of a command. Optional.
	CWD string `json:"cwd,omitempty"`
}

// ParseMap reads the form of the command line: "read_file=file:read:path",
// "run=exec:command" or "run=exec:command:cwd".
func ParseMap(text string) (Map, error) {
	tool, rest, _ := strings.Cut(text, "=")
	parts := strings.Split(rest, ":")
	m := Map{Tool: tool, Type: parts[0]}
	switch {
	case m.Type == "file" && len(parts) == 3:
		m.Mode, m.Arg = parts[1], parts[2]
	case m.Type == "exec" && len(parts) == 2:
		m.Arg = parts[1]
	case m.Type == "exec" && len(parts) == 3:
		m.Arg, m.CWD = parts[1], parts[2]
	default:
		return m, fault.Invalidf("map %q: want TOOL=file:read:ARG, TOOL=file:write:ARG, TOOL=file:search:ARG or TOOL=exec:ARG[:CWD]", text)
	}
	return m, m.check()
}

func (m Map) check() error {
	switch {
	case m.Tool == "" || m.Arg == "":
		return fault.Invalidf("map %q: a tool and an argument have to be named", m)
	case m.Type == "file" && m.Mode != "read" && m.Mode != "write" && m.Mode != "search":
		return fault.Invalidf("map %q: a file is mapped with read, write or search", m)
	case m.Type == "file" && m.CWD != "", m.Type == "exec" && m.Mode != "":
		return fault.Invalidf("map %q: a mode belongs to a file, a working directory to a command", m)
	case m.Type != "file" && m.Type != "exec":
		return fault.Invalidf("map %q: the type is file or exec", m)
	}
	return nil
}

// String is the form that ParseMap reads.
func (m Map) String() string {
	if m.Type == "file" {
		return fmt.Sprintf("%s=file:%s:%s", m.Tool, m.Mode, m.Arg)
	}
	text := fmt.Sprintf("%s=%s:%s", m.Tool, m.Type, m.Arg)
	if m.CWD != "" {
		text += ":" + m.CWD
	}
	return text
}
