package policy

import (
	"path"
	"strings"
)

// check refuses fields that rows of this type do not have, and values that no
// row may have.
func (s *Scope) check(resourceType string) *InvalidError {
	onTools := resourceType == TypeTool || resourceType == TypeMCP
	onFiles, onExec := resourceType == TypeFile, resourceType == TypeExec
	for _, f := range []struct {
		name    string
		set     bool
		allowed bool
	}{
		{"args", len(s.Args) > 0, onTools},
		{"sandbox", s.Sandbox != "", onFiles || onExec},
		{"mode", s.Mode != "", onFiles},
		{"path", s.Path != "", onFiles},
		{"command", s.Command != "", onExec},
		{"cwd", s.CWD != "", onExec},
	} {
		if f.set && !f.allowed {
			return invalid("scope."+f.name, "a row of type %q has no such field", clip(resourceType))
		}
	}
	if err := s.checkDigest(); err != nil {
		return err
	}
	if s.Approval == nil {
		return nil
	}
	return s.Approval.check()
}

func (s *Scope) checkDigest() *InvalidError {
	if !isDigest(s.ArgsDigest) {
		return invalid("scope.argsDigest", "must be 64 lower-case hexadecimal digits")
	}
	if !isDigest(s.Definition) {
		return invalid("scope.definition", "must be 64 lower-case hexadecimal digits")
	}
	if s.Approves != "" {
		return checkName("scope.approves", s.Approves)
	}
	return nil
}

// isDigest reports whether text is a SHA-256 in hexadecimal, or absent.
func isDigest(text string) bool {
	return text == "" || len(text) == 64 && strings.Trim(text, hexDigits) == ""
}

// Complete returns the row with the scope fields of file and exec rows filled in:
// sandbox and mode "*", path or command from the resource key; paths cleaned,
// the spaces of a command collapsed. Rows are stored in this form.
func (r Row) Complete() Row {
	s := &r.Scope
	switch r.ResourceType {
	case TypeFile:
		s.Sandbox = or(s.Sandbox, "*")
		s.Mode = or(s.Mode, "*")
		s.Path = cleanAbsolute(or(s.Path, r.ResourceKey))
	case TypeExec:
		s.Sandbox = or(s.Sandbox, "*")
		s.Command = collapse(or(s.Command, r.ResourceKey))
		s.CWD = cleanAbsolute(s.CWD)
	}
	return r
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// cleanAbsolute cleans an absolute path and leaves other text to be refused.
func cleanAbsolute(text string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	return path.Clean(text)
}

// collapse trims a command and makes one space of each run of spaces and tabs. From
// the first character on with which blanks may count, they stay as they are: within
// quotes they are another command. So are a line break and a NUL.
func collapse(command string) string {
	if isCollapsed(command) {
		return command
	}
	rest := strings.IndexAny(command, "'\"\\`$<#\n\r")
	if rest < 0 {
		rest = len(command)
	}
	words := strings.FieldsFunc(command[:rest], func(r rune) bool { return r == ' ' || r == '\t' })
	text := strings.Join(words, " ")
	if rest > 0 && len(words) > 0 && (command[rest-1] == ' ' || command[rest-1] == '\t') && rest < len(command) {
		text += " "
	}
	return text + withoutEnd(command[rest:])
}

// withoutEnd trims the blanks at the end, unless a backslash keeps the first of them.
func withoutEnd(text string) string {
	if trimmed := strings.TrimRight(text, " \t"); !strings.HasSuffix(trimmed, `\`) {
		return trimmed
	}
	return text
}

func isCollapsed(command string) bool {
	return !strings.Contains(command, "\t") && !strings.Contains(command, "  ") &&
		!strings.HasPrefix(command, " ") && !strings.HasSuffix(command, " ")
}

// checkArea checks what a completed file or exec row must have.
func (r *Row) checkArea() *InvalidError {
	s := r.Complete().Scope
	switch r.ResourceType {
	case TypeFile:
		if !knownMode(s.Mode) && s.Mode != "*" {
			return invalid("scope.mode", "unknown mode %q: want read, write, search or *", clip(s.Mode))
		}
		if err := checkPath("scope.path", s.Path); err != nil {
			return err
		}
	case TypeExec:
		if s.Command == "" {
			return invalid("scope.command", "is empty")
		}
		if s.CWD != "" {
			if err := checkPath("scope.cwd", s.CWD); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	return checkName("scope.sandbox", s.Sandbox)
}

func checkPath(field, text string) *InvalidError {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return invalid(field, "contains a NUL").at(i + 1)
	}
	if !strings.HasPrefix(text, "/") {
		return invalid(field, "must be an absolute path")
	}
	return nil
}
