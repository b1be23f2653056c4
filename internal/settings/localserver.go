package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// LocalServer is the note that a running server leaves in its data folder.
type LocalServer struct {
	// URL is where it answers on this machine.
	URL string `json:"url"`
	// PID is its process.
	PID int `json:"pid"`
}

// localServerFile is the note's name in the data folder.
const localServerFile = "server.json"

// Announce writes the note for this process, listening at url. The result
// takes it back; a note that another process has written since stays.
func Announce(dataDir, url string) (withdraw func() error, err error) {
	own := LocalServer{URL: url, PID: os.Getpid()}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	if err := makeDir(dataDir); err != nil {
		return nil, fmt.Errorf("announce server: %w", err)
	}
	path := filepath.Join(dataDir, localServerFile)
	if err := create(path, append(text, '\n'), os.Rename); err != nil {
		return nil, fmt.Errorf("announce server: %w", err)
	}
	return func() error {
		if now, ok, err := readLocalServer(path); err != nil || !ok || now != own {
			return err
		}
		return os.Remove(path)
	}, nil
}

// FindLocalServer gives the server of a data folder. ok is false when none
// runs: there is no note, or the process that left it has died. (Another
// program may have its port by then, and must not be sent the admin token.)
func FindLocalServer(dataDir string) (s LocalServer, ok bool, err error) {
	s, ok, err = readLocalServer(filepath.Join(dataDir, localServerFile))
	return s, ok && alive(s.PID), err
}

func readLocalServer(path string) (s LocalServer, ok bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if err := json.Unmarshal(text, &s); err != nil || s.URL == "" || s.PID <= 0 {
		return s, false, fmt.Errorf("%s cannot be read; start holm serve again", path)
	}
	return s, true, nil
}

func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}
