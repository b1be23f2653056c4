package upstream

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"syscall"
	"time"
)

// process is a child in a process group of its own, with the parent's ends of
// its three pipes.
type process struct {
	cmd       *exec.Cmd
	in        *os.File // its stdin
	out, err  *os.File // its stdout and stderr
	childEnds []*os.File
	exited    chan struct{} // closed when it has been reaped and its group killed
	exit      error         // valid after exited
	pid       int
	grace     time.Duration
}

// startProcess runs the command. The thread that starts the child stays with it
// until its end: on Linux the death signal of a child follows that thread.
func startProcess(s Server, grace time.Duration) (*process, error) {
	p := &process{exited: make(chan struct{}), grace: grace}
	err := p.prepare(s)
	if err == nil {
		begun := make(chan error, 1)
		go p.run(begun)
		err = <-begun
	}
	for _, f := range p.childEnds {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	return p, nil
}

func (p *process) prepare(s Server) error {
	p.cmd = exec.Command(s.Command[0], s.Command[1:]...)
	p.cmd.Dir = s.Dir
	p.cmd.Env = environment(s.Env)
	p.cmd.SysProcAttr = ownGroup()
	var err error
	if p.cmd.Stdin, p.in, err = p.pipe(false); err != nil {
		return err
	}
	if p.cmd.Stdout, p.out, err = p.pipe(true); err != nil {
		return err
	}
	p.cmd.Stderr, p.err, err = p.pipe(true)
	return err
}

// pipe makes a pipe; the child's end comes first. Own pipes instead of those of
// os/exec, whose Wait would hang while a grandchild holds one open.
func (p *process) pipe(childWrites bool) (child, ours *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	child, ours = r, w
	if childWrites {
		child, ours = w, r
	}
	p.childEnds = append(p.childEnds, child)
	return child, ours, nil
}

func (p *process) run(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err == nil {
		p.pid = p.cmd.Process.Pid
	}
	begun <- err
	if err != nil {
		return
	}
	p.exit = p.cmd.Wait()
	signalGroup(p.pid, syscall.SIGKILL) // what the server started ends with it
	close(p.exited)
}

// stop ends the child: EOF, then SIGTERM, then SIGKILL, the latter two to its
// whole group, each with its bound.
func (p *process) stop() {
	p.in.Close()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.exited:
			return
		case <-time.After(p.grace):
			signalGroup(p.pid, signal)
		}
	}
	<-p.exited // the kernel owes us this one
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			f.Close()
		}
	}
}

// environment is all that a child inherits: nothing of ours but PATH and HOME.
func environment(extra map[string]string) []string {
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}
	for name, value := range extra {
		env[name] = value
	}
	var all []string
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	sort.Strings(all)
	return all
}
