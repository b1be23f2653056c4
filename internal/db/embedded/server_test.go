package embedded_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/db/embedded"
)

func TestDataSurvivesStopAndStart(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	must(t, err)
	exec1(t, connect(t, server), `CREATE TABLE kept AS SELECT 42 AS answer`)
	pid := postmasterPid(t, dir)

	must(t, server.Stop(t.Context()))
	must(t, server.Stop(t.Context()))
	<-server.Done()
	if err := server.Err(); err != nil {
		t.Errorf("Err after Stop = %v, want nil", err)
	}
	if running(pid) {
		t.Errorf("process %d outlived Stop", pid)
	}
	if _, err := pgx.Connect(t.Context(), server.URL()); err == nil {
		t.Error("the server answers after Stop")
	}

	var answer int
	again := connect(t, start(t, dir))
	must(t, again.QueryRow(t.Context(), `SELECT answer FROM kept`).Scan(&answer))
	if answer != 42 {
		t.Errorf("answer = %d, want 42", answer)
	}
}

func TestServerIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	conn := connect(t, start(t, dir))

	var listen, encoding, statements string
	must(t, conn.QueryRow(t.Context(), `
		SELECT current_setting('listen_addresses'),
		       current_setting('server_encoding'),
		       current_setting('log_min_error_statement')`).Scan(&listen, &encoding, &statements))
	if listen != "" || encoding != "UTF8" || statements != "panic" {
		t.Errorf("listen_addresses %q, encoding %q, log_min_error_statement %q", listen, encoding, statements)
	}
	for _, name := range []string{"postgres", "postgres-run"} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, want 0700", name, info.Mode().Perm())
		}
	}
	if uid := serverUID(t, postmasterPid(t, dir)); uid == 0 {
		t.Error("the server runs as root")
	}
}

func serverUID(t *testing.T, pid int) uint32 {
	t.Helper()
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	must(t, err)
	return info.Sys().(*syscall.Stat_t).Uid
}

func TestSecondStartIsRefused(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	first := start(t, dir)
	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Fast: true})
	if !errors.Is(err, embedded.ErrInUse) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Fatalf("second start: %v, want ErrInUse naming process %d", err, os.Getpid())
	}
	exec1(t, connect(t, first), `SELECT 1`)
}

func TestServerThatEndsByItself(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	must(t, err)
	exec1(t, connect(t, server), `CREATE TABLE kept (a int)`)
	if err := server.Err(); err != nil {
		t.Errorf("Err while running = %v", err)
	}

	must(t, syscall.Kill(postmasterPid(t, dir), syscall.SIGKILL))
	<-server.Done()
	if err := server.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Err = %v, want one that tells of the kill", err)
	}
	must(t, server.Stop(t.Context()))

	exec1(t, connect(t, start(t, dir)), `INSERT INTO kept VALUES (1)`)
}

func TestStopDoesNotWaitForSessions(t *testing.T) {
	t.Parallel()
	server := start(t, openDir(t))
	exec1(t, connect(t, server), `BEGIN`)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, server.Stop(gone))
	<-server.Done()
}

func TestStartThatIsCancelled(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Start(gone, embedded.Config{DataDir: dir}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Start = %v, want context.Canceled", err)
	}
	start(t, dir)
}

func TestLongAndOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("long", 40), `a,b "c" 'd' [e] é`} {
		dir := filepath.Join(openDir(t), name, "holm")
		server := start(t, dir)
		exec1(t, connect(t, server), `SELECT 1`)

		address, err := url.Parse(server.URL())
		must(t, err)
		socket := address.Query().Get("host")
		must(t, server.Stop(t.Context()))
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("socket folder %s is left: %v", socket, err)
		}
	}
}
