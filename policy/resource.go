package policy

import "strings"

// The resource types.
const (
	TypeTool = "tool"
	TypeMCP  = "mcp"
	TypeFile = "file"
	TypeExec = "exec"
)

// What a call does to a file. A row may also say "*", for all. A search reads what is
// below a folder: rows for reading hold for it, those about files below the folder too.
const (
	ModeRead   = "read"
	ModeWrite  = "write"
	ModeSearch = "search"
)

func knownMode(mode string) bool { return mode == ModeRead || mode == ModeWrite || mode == ModeSearch }

// modeCovers reports whether a row for one mode is about another.
func modeCovers(row, mode string) bool {
	return row == "*" || row == mode || row == ModeRead && mode == ModeSearch
}

// DefaultSandbox is the sandbox of a resource that names none.
const DefaultSandbox = "default"

// Resource is a file or a command that a call reaches. Who runs the tool fills it
// in from the call's arguments, and uses the form that [Resource.Clean] returns.
type Resource struct {
	// Type is TypeFile or TypeExec.
	Type string
	// Sandbox is the sandbox's alias; empty means DefaultSandbox.
	Sandbox string
	// Mode is ModeRead, ModeWrite or ModeSearch, for files.
	Mode string
	// Path is absolute, for files. It is compared as text: links are followed or
	// refused by who opens the file.
	Path string
	// Command is the command's text, for exec.
	Command string
	// CWD is the absolute working directory, for exec. Empty means that it is not
	// known: allow rows for a directory then do not match, other rows do.
	CWD string

	// Missing is set in place of a path or command: the argument that would name it,
	// and that the call does not carry. The call then names none, and is denied where
	// allow rows close the layer.
	Missing string
	// Unreadable is set in place of a path or command: why what the call has there
	// cannot be read as one. Like what [Resource.Clean] refuses, it cannot be judged.
	Unreadable error
}

// Clean returns the one spelling by which resources are compared: paths without
// ".", ".." and doubled slashes, the blanks of a command collapsed, the sandbox
// named. It refuses, with an [*InvalidError], what cannot be judged: an unknown
// type or mode, a path that is not absolute or has a NUL, an empty command, what is
// unreadable, and parts that belong to another type. A call that reaches such a
// resource is denied.
func (r Resource) Clean() (Resource, error) {
	clean, err := r.clean()
	if err != nil {
		return Resource{}, err
	}
	return clean, nil
}

// Key is the resource key that approvals and rows use: the path or the command.
func (r Resource) Key() string {
	if r.Type == TypeExec {
		return r.Command
	}
	return r.Path
}

// Tool is the built-in tool that reaches such a resource, for checks that name
// none: file_read, file_write or exec.
func (r Resource) Tool() string {
	switch {
	case r.Type == TypeExec:
		return "exec"
	case r.Mode == ModeWrite:
		return "file_write"
	}
	return "file_read"
}

// ResourceOf makes the resource that a key and a scope describe as in a row:
// where the scope has no path or command, the key is it. It does not check.
func ResourceOf(resourceType, key string, scope Scope) Resource {
	r := Resource{Type: resourceType, Sandbox: scope.Sandbox, Mode: scope.Mode, CWD: scope.CWD}
	if resourceType == TypeExec {
		r.Command = or(scope.Command, key)
	} else {
		r.Path = or(scope.Path, key)
	}
	return r
}

func (r Resource) clean() (Resource, *InvalidError) {
	r.Sandbox = or(r.Sandbox, DefaultSandbox)
	if r.Sandbox == "*" {
		return r, invalid("sandbox", "must name one sandbox")
	}
	if err := checkName("sandbox", r.Sandbox); err != nil {
		return r, err
	}
	if r.Unreadable != nil {
		return r, invalid("args", "%v", r.Unreadable)
	}
	switch r.Type {
	case TypeFile:
		return r.cleanFile()
	case TypeExec:
		return r.cleanExec()
	}
	return r, invalid("type", "unknown type %q: want file or exec", clip(r.Type))
}

func (r Resource) cleanFile() (Resource, *InvalidError) {
	if !knownMode(r.Mode) {
		return r, invalid("mode", "unknown mode %q: want read, write or search", clip(r.Mode))
	}
	if r.Command != "" || r.CWD != "" {
		return r, invalid("command", "a file has neither command nor cwd")
	}
	if r.Missing != "" {
		return r, nil
	}
	if err := checkPath("path", r.Path); err != nil {
		return r, err
	}
	r.Path = cleanAbsolute(r.Path)
	return r, nil
}

func (r Resource) cleanExec() (Resource, *InvalidError) {
	if r.Mode != "" || r.Path != "" {
		return r, invalid("path", "a command has neither path nor mode")
	}
	if r.Missing != "" {
		return r, nil
	}
	if r.CWD != "" {
		if err := checkPath("cwd", r.CWD); err != nil {
			return r, err
		}
		r.CWD = cleanAbsolute(r.CWD)
	}
	if r.Command = collapse(r.Command); r.Command == "" {
		return r, invalid("command", "is empty")
	}
	return r, nil
}

// parentDir is the directory above a cleaned absolute path; "" above "/".
func parentDir(clean string) string {
	switch i := strings.LastIndexByte(clean, '/'); {
	case clean == "/":
		return ""
	case i == 0:
		return "/"
	default:
		return clean[:i]
	}
}
