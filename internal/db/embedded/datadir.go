package embedded

import (
	"fmt"
	"os"
	"path/filepath"
)

// DefaultDataDir is Holm's data folder when none is set: /var/lib/holm for root, because the
// server's user cannot enter root's home, else holm in the XDG data folder.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/holm", nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holm"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home folder (or set HOLM_DATA_DIR): %w", err)
	}
	return filepath.Join(home, ".local", "share", "holm"), nil
}

// makeDataDir creates missing folders whatever the umask is: closed to others, except that for
// root the server's user must be able to pass through.
func makeDataDir(path string) error {
	if isDir(path) {
		return nil
	}
	if err := makeDataDir(filepath.Dir(path)); err != nil {
		return err
	}
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.Mkdir(path, mode); err != nil {
		if isDir(path) {
			return nil // another process was quicker
		}
		return err
	}
	return os.Chmod(path, mode)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
