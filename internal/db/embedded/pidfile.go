package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is the part of postmaster.pid used here. The file's lines are listed in PostgreSQL's
// src/include/utils/pidfile.h: line 1 is the process id, line 8 the status.
type pidFile struct {
	pid    int
	status string
}

func (c cluster) readPidFile() (pidFile, error) {
	text, err := os.ReadFile(filepath.Join(c.path(), "postmaster.pid"))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, fmt.Errorf("postmaster.pid: %w", err)
	}
	file := pidFile{pid: pid}
	if len(lines) >= 8 {
		file.status = strings.TrimSpace(lines[7])
	}
	return file, nil
}

// endPrevious stops a server that an earlier Holm left running on these files; the caller holds
// the lock, so no live Holm owns it. It returns the process id named in postmaster.pid when that
// process exists but is no server of this folder (a zombie, or a reused id, as in containers),
// else 0.
func (c cluster) endPrevious(ctx context.Context, logger *slog.Logger) (stale int, err error) {
	file, err := c.readPidFile()
	if err != nil || file.pid <= 1 {
		// No file, or a torn one: the server judges those itself.
		return max(file.pid, 0), nil
	}
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, fastStop}, {syscall.SIGQUIT, immediateStop}, {syscall.SIGKILL, killStop}} {
		gone, err := c.endPostmaster(ctx, file.pid, step.signal, step.wait)
		if err != nil {
			return 0, err
		}
		if gone {
			return existing(file.pid), nil
		}
		logger.Warn("embedded database of an earlier run does not end", "pid", file.pid, "signal", step.signal.String())
	}
	return 0, fmt.Errorf("process %d, the server of an earlier run, does not end", file.pid)
}

// endPostmaster signals the server and reports whether it has ended in time.
func (c cluster) endPostmaster(ctx context.Context, pid int, signal syscall.Signal, wait time.Duration) (bool, error) {
	// The handle is taken before the check, so that the signal reaches the process checked.
	handle, err := os.FindProcess(pid)
	if err != nil {
		return true, nil
	}
	defer handle.Release()
	if !isPostmaster(pid, c.path()) {
		return true, nil
	}
	if err := handle.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("stop the server of an earlier run, process %d: %w", pid, err)
	}
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); {
		if !isPostmaster(pid, c.path()) {
			return true, nil
		}
		if err := pause(ctx, pollInterval); err != nil {
			return false, err
		}
	}
	return false, nil
}

// existing returns pid when any process, a zombie included, has it, else 0.
func existing(pid int) int {
	if err := syscall.Kill(pid, 0); err == nil || errors.Is(err, syscall.EPERM) {
		return pid
	}
	return 0
}
