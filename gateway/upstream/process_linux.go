package upstream

import "syscall"

// ownGroup puts the child into a process group of its own and ties its life to
// ours, so that not even kill -9 leaves servers behind.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func signalGroup(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }
