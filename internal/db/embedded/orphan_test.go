package embedded_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holm/internal/db/embedded"
)

func TestRestartAfterKill(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	other := startHelper(t, program(t), dir, nil)
	if !strings.HasPrefix(other.said, "ready:") {
		t.Fatal(other.said)
	}
	pid := postmasterPid(t, dir)
	exec1(t, connectTo(t, other), `CREATE TABLE kept (a int)`)

	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Fast: true})
	if want := fmt.Sprintf("process %d,", other.cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("start beside a live holm: %v, want an error naming %s", err, want)
	}

	other.kill(t)
	exec1(t, connect(t, startSafe(t, dir)), `INSERT INTO kept VALUES (1)`)
	if running(pid) {
		t.Errorf("server %d of the killed process still runs", pid)
	}
}

func TestServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	other := startHelper(t, program(t), dir, nil)
	pid := postmasterPid(t, dir)
	other.kill(t)
	awaitGone(t, pid)
}

func TestServerLeftRunningIsReplaced(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	first := start(t, dir)
	exec1(t, connect(t, first), `CREATE TABLE kept (a int)`)
	must(t, first.Stop(t.Context()))
	orphan := exec.Command(postgresPath(t), "-D", filepath.Join(dir, "postgres"), "-k", filepath.Join(dir, "postgres-run"), "-c", "listen_addresses=")
	orphan.SysProcAttr = &syscall.SysProcAttr{Credential: serverAccount(t, dir)}
	orphan.Dir = "/"
	ended := startAndAwait(t, orphan, dir)

	exec1(t, connect(t, startSafe(t, dir)), `INSERT INTO kept VALUES (1)`)
	if err := <-ended; err != nil {
		t.Errorf("the orphan was not shut down in order: %v", err)
	}
}

func TestStalePidFile(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	must(t, start(t, dir).Stop(t.Context()))

	stranger := exec.Command("sleep", "600")
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: serverAccount(t, dir)}
	must(t, stranger.Start())
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	pid := stranger.Process.Pid

	check := func(what, text string) {
		t.Helper()
		writePidFile(t, dir, text)
		server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		must(t, server.Stop(t.Context()))
	}
	check("id of another program", fmt.Sprintf("%d\n%s\n1\n5432\n", pid, filepath.Join(dir, "postgres")))
	if !running(pid) {
		t.Fatal("a process that is no server was stopped")
	}
	must(t, stranger.Process.Kill())
	awaitGone(t, pid)
	check("id of a zombie", fmt.Sprintf("%d\n", pid))
	_ = stranger.Wait()
	check("id of nobody", fmt.Sprintf("%d\n", pid))
}

func TestUnfinishedFilesAreMadeAnew(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	half := filepath.Join(dir, "postgres.init-123", "base")
	must(t, os.MkdirAll(half, 0o700))
	exec1(t, connect(t, start(t, dir)), `SELECT 1`)
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("unfinished files are left: %v", err)
	}
}

func TestDamagedFilesAreKept(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	must(t, start(t, dir).Stop(t.Context()))
	control := filepath.Join(dir, "postgres", "global", "pg_control")
	must(t, os.Truncate(control, 0))

	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), "pg_control") {
		t.Fatalf("start on damaged files: %v, want the server's own words", err)
	}
	if _, err := os.Stat(control); err != nil {
		t.Fatalf("damaged files were thrown away: %v", err)
	}
	// A server for tests may do that.
	exec1(t, connect(t, start(t, dir)), `SELECT 1`)
}

func writePidFile(t *testing.T, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, "postgres", "postmaster.pid")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	if as := serverAccount(t, dir); as != nil {
		must(t, os.Chown(path, int(as.Uid), int(as.Gid)))
	}
}
