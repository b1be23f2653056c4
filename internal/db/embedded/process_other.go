//go:build !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// kernelEndsOrphans is false: a watchdog process does it.
const kernelEndsOrphans = false

// maxSocketPath is the size of sun_path less its final zero on macOS and the BSDs.
const maxSocketPath = 103

func signalOnParentDeath(*syscall.SysProcAttr, syscall.Signal) {}

// isPostmaster reports whether pid is a live server on the database files in dir, by the command
// line that this package starts it with. A zombie shows none.
func isPostmaster(pid int, dir string) bool {
	line, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(line), "postgres -D "+dir+" ")
}
