package embedded

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// noAccount is the user id for root's server where neither postgres nor nobody exists; it is
// "nobody" by convention on Linux.
const noAccount = 65534

// account is the user the server runs as. PostgreSQL refuses to run as root.
type account struct {
	uid, gid int
	// drop is true when the server must run as somebody else than this process.
	drop bool
}

// chooseAccount picks the current user, or for root the owner of existing database files, else
// postgres, else nobody.
func chooseAccount(existing string) account {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}
	}
	if info, err := os.Stat(existing); err == nil {
		if uid, gid, ok := owner(info); ok && uid != 0 {
			return account{uid: uid, gid: gid, drop: true}
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, ok := lookUpAccount(name); ok {
			return found
		}
	}
	return account{uid: noAccount, gid: noAccount, drop: true}
}

func lookUpAccount(name string) (account, bool) {
	entry, err := user.Lookup(name)
	if err != nil {
		return account{}, false
	}
	uid, uidErr := strconv.Atoi(entry.Uid)
	gid, gidErr := strconv.Atoi(entry.Gid)
	if uidErr != nil || gidErr != nil || uid <= 0 {
		return account{}, false
	}
	return account{uid: uid, gid: gid, drop: true}, true
}

func (a account) credential() *syscall.Credential {
	if !a.drop {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// give makes the account the owner of path.
func (a account) give(path string) error {
	if !a.drop {
		return nil
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("give folder to the database user: %w", err)
	}
	return nil
}

// barrier returns the outermost folder on the way to path that the account may not enter, or "".
// It goes by permission bits and is meant for messages only.
func (a account) barrier(path string) string {
	if parent := filepath.Dir(path); parent != path {
		if closed := a.barrier(parent); closed != "" {
			return closed
		}
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return ""
	}
	uid, gid, _ := owner(info)
	bit := os.FileMode(0o001)
	switch {
	case uid == a.uid:
		bit = 0o100
	case gid == a.gid:
		bit = 0o010
	}
	if info.Mode().Perm()&bit == 0 {
		return path
	}
	return ""
}

func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}
