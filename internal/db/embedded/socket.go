package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const (
	// socketPort is part of the socket's file name only; nothing listens on the network.
	socketPort = "5432"
	socketName = ".s.PGSQL." + socketPort
)

// socketDir is the folder of the server's socket, closed to everybody else.
type socketDir struct {
	path string
	// shared is true for a folder outside the data folder, to be removed at the end.
	shared bool
}

// openSocketDir prefers a folder beside the database files. When that path is too long for a
// socket, or holds characters that the server's setting cannot, it takes a short one.
func openSocketDir(c cluster) (socketDir, error) {
	dir := socketDir{path: filepath.Join(c.root, "postgres-run")}
	if !fitsSocket(dir.path) {
		dir = socketDir{path: shortSocketPath(c), shared: true}
	}
	if err := os.Mkdir(dir.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return socketDir{}, fmt.Errorf("make socket folder: %w", err)
	}
	if err := dir.secure(c.account); err != nil {
		return socketDir{}, err
	}
	// A socket of an earlier run: its server is gone by now, its lock file may name anybody.
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(dir.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return socketDir{}, fmt.Errorf("remove old socket: %w", err)
		}
	}
	return dir, nil
}

func fitsSocket(dir string) bool {
	return len(dir)+len("/"+socketName) <= maxSocketPath && !strings.ContainsAny(dir, `,"`)
}

func shortSocketPath(c cluster) string {
	sum := sha256.Sum256([]byte(c.root))
	name := fmt.Sprintf("holm-%d-%s", c.account.uid, hex.EncodeToString(sum[:6]))
	// The runtime folder is this user's own, of no use to a server that runs as another.
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && !c.account.drop {
		if path := filepath.Join(dir, name); fitsSocket(path) {
			return path
		}
	}
	return filepath.Join("/tmp", name)
}

// secure refuses a folder that somebody else made in advance, for instance under /tmp, where
// they could put their own server behind the socket.
func (d socketDir) secure(acct account) error {
	info, err := os.Lstat(d.path)
	if err != nil {
		return fmt.Errorf("socket folder: %w", err)
	}
	uid, _, _ := owner(info)
	if !info.IsDir() || (uid != os.Geteuid() && uid != acct.uid) {
		return fmt.Errorf("socket folder %s belongs to user id %d: remove it, or choose a HOLM_DATA_DIR with a shorter path", d.path, uid)
	}
	if err := os.Chmod(d.path, 0o700); err != nil {
		return fmt.Errorf("close socket folder: %w", err)
	}
	return acct.give(d.path)
}

func (d socketDir) url() string {
	query := url.Values{"host": {d.path}, "port": {socketPort}, "sslmode": {"disable"}}
	address := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: query.Encode()}
	return address.String()
}

func (d socketDir) remove() error {
	if !d.shared {
		return nil
	}
	if err := os.RemoveAll(d.path); err != nil {
		return fmt.Errorf("remove socket folder: %w", err)
	}
	return nil
}
