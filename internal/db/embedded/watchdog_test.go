package embedded

import (
	"os/exec"
	"syscall"
	"testing"
)

// The watchdog works on every system, and so is tested on every system, though only those whose
// kernel does not end orphans use it.

func TestWatchdogEndsTheServerAtOurDeath(t *testing.T) {
	target := exec.Command("sleep", "600")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	dog, err := startWatchdog(target.Process.Pid, account{})
	if err != nil {
		t.Fatal(err)
	}
	// What the kernel does for a process that dies.
	dog.pipe.Close()
	_ = target.Wait()
	if status := target.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
		t.Errorf("the server ended by %v, want an interrupt", target.ProcessState)
	}
	_ = dog.cmd.Wait()
}

func TestWatchdogThatIsStoppedSignalsNobody(t *testing.T) {
	target := exec.Command("sleep", "600")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	dog, err := startWatchdog(target.Process.Pid, account{})
	if err != nil {
		t.Fatal(err)
	}
	dog.stop()
	_ = target.Process.Signal(syscall.SIGTERM)
	_ = target.Wait()
	if status := target.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("the server ended by %v, want the test's own signal", target.ProcessState)
	}
}
