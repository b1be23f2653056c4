package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watchdog is a tiny process that ends the server when this process dies, where the kernel does
// not offer that. It reads a pipe that nobody writes to; the end of the pipe is our death.
type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
}

const watchdogScript = `read -r _; kill -INT "$1" 2>/dev/null`

func startWatchdog(pid int, acct account) (*watchdog, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make watchdog pipe: %w", err)
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "holm-watchdog", strconv.Itoa(pid))
	cmd.Dir = "/"
	cmd.Stdin = read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: acct.credential()}
	if err := cmd.Start(); err != nil {
		write.Close()
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: write}, nil
}

// stop ends the watchdog without letting it act: the server's process id may be another's by now.
func (w *watchdog) stop() {
	if w == nil {
		return
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	w.pipe.Close()
}
