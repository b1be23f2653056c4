package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse means that another live process runs a server on the same data folder. The error's
// text names the process.
var ErrInUse = errors.New("the data folder is in use")

// lock is held for as long as a server may run on a folder. The kernel gives it back when the
// process dies, however it dies.
type lock struct {
	file *os.File
}

func acquireLock(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w by %s, which holds %s: stop it, choose another HOLM_DATA_DIR, or set HOLM_DATABASE_URL so that both use one server", ErrInUse, holder(file), path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	held := &lock{file: file}
	if err := held.sign(); err != nil {
		return nil, errors.Join(err, held.release())
	}
	return held, nil
}

// sign leaves this process's id in the file, for the message of others.
func (l *lock) sign() error {
	err := l.file.Truncate(0)
	if err == nil {
		_, err = l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

// release lets others in. The file stays: removing it could let two processes lock two files of
// the same name.
func (l *lock) release() error {
	// Unlocked by itself: a program that this process starts in this moment has a copy
	// of the file until it runs, and the kernel keeps the lock for that.
	if err := errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close()); err != nil {
		return fmt.Errorf("release lock file: %w", err)
	}
	return nil
}

func holder(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || convErr != nil {
		return "another process"
	}
	return "process " + strconv.Itoa(pid)
}
