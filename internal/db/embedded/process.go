package embedded

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child in its own process group, so that Ctrl-C in a terminal reaches only Holm,
// which ends the child when its own work is done.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; valid once done is closed
}

// launch starts cmd in dir as the cluster's user. The child gets orphanSignal when this process
// dies, on systems that can do that.
func (c cluster) launch(cmd *exec.Cmd, dir string, orphanSignal syscall.Signal) (*process, error) {
	cmd.Dir = dir
	cmd.Env = append(childEnv(dir), cmd.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.account.credential()}
	signalOnParentDeath(cmd.SysProcAttr, orphanSignal)
	// Surviving grandchildren may keep the output open; do not wait for them.
	cmd.WaitDelay = 2 * time.Second

	child := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go child.own(started)
	if err := <-started; err != nil {
		return nil, c.explainStart(err, cmd.Path)
	}
	return child, nil
}

// own starts the child and stays until it ends. The kernel ties the signal on the parent's death to
// the thread that started the child, not to the process, so the thread must live as long.
func (p *process) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// end sends a signal and reports whether the child has ended within the time and ctx.
func (p *process) end(ctx context.Context, signal syscall.Signal, wait time.Duration) bool {
	// A failure means that the child is gone, which the select below sees.
	_ = p.cmd.Process.Signal(signal)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// childEnv passes on what programs need to run, and nothing of Holm's settings and secrets or of
// PG variables meant for other servers.
func childEnv(home string) []string {
	env := []string{"HOME=" + home, "LC_ALL=C"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "TZDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
