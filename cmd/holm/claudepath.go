package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"holm/policy"
)

// path is the file or folder that a call reaches, absolute and clean. A search
// without a path is one in the working directory; a pattern that leads
// elsewhere takes its path with it.
func (c claudeCodeCall) path(input map[string]json.RawMessage, name string) (string, error) {
	search := filesOf[c.Tool].mode == policy.ModeSearch
	at := c.CWD
	if _, ok := input[name]; ok || !search {
		var err error
		if at, err = text(input, name); err != nil {
			return "", err
		}
	}
	at, err := c.absolute(at)
	if err != nil || c.Tool != "Glob" {
		return at, err
	}
	pattern, err := text(input, "pattern")
	if err != nil {
		return "", err
	}
	return c.below(at, pattern)
}

// absolute is a path as policy compares it. The home folder is that of whoever runs
// this program, as it is that of Claude Code beside it. A Windows path C:\Users\Ann
// is /c:/users/ann: there, letters are one whatever their case.
func (c claudeCodeCall) absolute(given string) (string, error) {
	switch {
	case padded(given):
		return "", fmt.Errorf("the path %q cannot be judged: it begins or ends with white space", given)
	case given == "~" || strings.HasPrefix(given, "~/"):
		home, err := os.UserHomeDir()
		if err != nil || !path.IsAbs(home) {
			return "", fmt.Errorf("the path %q cannot be judged: the home folder is not known", given)
		}
		return path.Join(home, given[1:]), nil
	case given == "" || strings.HasPrefix(given, "~"):
		return "", fmt.Errorf("the path %q cannot be judged: it is not absolute", given)
	case drive.MatchString(given) || strings.HasPrefix(given, `\\`) || drive.MatchString(c.CWD):
		return windowsPath(c.CWD, given)
	case path.IsAbs(given):
		return path.Clean(given), nil
	case !path.IsAbs(c.CWD):
		return "", errors.New("the call names no working directory")
	}
	return path.Join(c.CWD, given), nil
}

// padded tells of white space at an end, as JavaScript sees it. Claude Code takes
// it off a path before it uses it: " /etc/passwd" is nothing in the working
// directory, and "/w/x " is /w/x.
func padded(path string) bool {
	return path != strings.Trim(strings.TrimSpace(path), "\uFEFF")
}

var (
	drive = regexp.MustCompile(`^[A-Za-z]:`)
	// odd is what Windows reads as another name than it is written: a stream, a short
	// name, a dot or blank at an end.
	odd = regexp.MustCompile(`:|~[0-9]|[. ]$`)
)

// windowsPath is a path of Windows in the form /c:/users/ann.
func windowsPath(cwd, given string) (string, error) {
	cwd, clean := strings.ReplaceAll(cwd, `\`, "/"), strings.ReplaceAll(given, `\`, "/")
	switch {
	case strings.HasPrefix(clean, "//"):
		return "", fmt.Errorf("the path %q cannot be judged: it names a device or another machine", given)
	case drive.MatchString(clean) && (len(clean) < 3 || clean[2] != '/'):
		return "", fmt.Errorf("the path %q cannot be judged: it depends on the drive's own folder", given)
	case drive.MatchString(clean):
	case strings.HasPrefix(clean, "/"):
		clean = cwd[:2] + clean
	default:
		clean = cwd + "/" + clean
	}
	clean = strings.ToLower(clean)
	below := path.Clean(clean[2:]) // ".." ends at the drive
	for part := range strings.SplitSeq(below, "/") {
		if odd.MatchString(part) {
			return "", fmt.Errorf("the path %q cannot be judged: Windows may read it as another", given)
		}
	}
	return path.Join("/"+clean[:2], below), nil
}

// below is the folder in which a pattern looks that is taken from a folder.
func (c claudeCodeCall) below(dir, pattern string) (string, error) {
	if strings.HasPrefix(pattern, "~") || padded(pattern) || drive.MatchString(pattern) || drive.MatchString(c.CWD) && strings.Contains(pattern, `\`) {
		return "", fmt.Errorf("the pattern %q cannot be judged", pattern)
	}
	if path.IsAbs(pattern) {
		dir = "/"
	}
	open := false
	for part := range strings.SplitSeq(pattern, "/") {
		open = open || strings.ContainsAny(part, "*?[{\\!()")
		switch {
		case open && strings.Contains(part, ".."):
			return "", fmt.Errorf("the pattern %q cannot be judged", pattern)
		case !open:
			dir = path.Join(dir, part)
		}
	}
	return dir, nil
}

// onDisk is where a path leads on this machine: links followed, and each name as the
// disk spells it, which may take several spellings for one. What is not there yet has
// the path of the folder that it will be in.
func onDisk(clean string) (string, error) {
	for at, rest := clean, ""; ; at, rest = path.Dir(at), path.Join(path.Base(at), rest) {
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) && at != "/" {
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("the path %q cannot be judged: where it leads is not known", clean)
		}
		if err != nil {
			return clean, nil // what we may not see, Claude Code, which is the same user, may not reach
		}
		return path.Join(spelled(real), rest), nil
	}
}

// spelled is a path that is there, with each name as its folder lists it.
func spelled(real string) string {
	if real == "/" {
		return real
	}
	dir, name := spelled(path.Dir(real)), path.Base(real)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return path.Join(dir, name)
	}
	own, err := os.Lstat(real)
	if err != nil {
		return path.Join(dir, name)
	}
	return path.Join(dir, listedName(name, entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err == nil && os.SameFile(own, info)
	}))
}

// listedName is the entry that a name stands for: the one of that name, else the one
// that is the same file.
func listedName(name string, entries []fs.DirEntry, same func(fs.DirEntry) bool) string {
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
		return name
	}
	if i := slices.IndexFunc(entries, same); i >= 0 {
		return entries[i].Name()
	}
	return name
}
