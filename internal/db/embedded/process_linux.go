package embedded

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// kernelEndsOrphans says that no watchdog process is needed.
const kernelEndsOrphans = true

// maxSocketPath is the size of sun_path less its final zero, see unix(7).
const maxSocketPath = 107

func signalOnParentDeath(attr *syscall.SysProcAttr, signal syscall.Signal) {
	attr.Pdeathsig = signal
}

// isPostmaster reports whether pid is a live server on the database files in dir. A server works
// in its folder. A zombie has no working folder and so is not one.
func isPostmaster(pid int, dir string) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil || !strings.HasPrefix(string(name), "post") {
		return false
	}
	work, err := os.Stat(filepath.Join(proc, "cwd"))
	if err != nil {
		return false
	}
	files, err := os.Stat(dir)
	return err == nil && os.SameFile(work, files)
}
