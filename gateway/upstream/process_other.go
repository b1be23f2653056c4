//go:build !unix

package upstream

import (
	"os"
	"syscall"
)

// ownGroup asks for nothing: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

// signalGroup can only end the child itself, which has no signals to ask with.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
