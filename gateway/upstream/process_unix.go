//go:build unix && !linux

package upstream

import "syscall"

// ownGroup puts the child into a process group of its own. Where there is no
// death signal a child of a killed gateway sees the end of its stdin instead.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }
