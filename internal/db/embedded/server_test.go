package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db/embedded"
)

func TestDataSurvivesStopAndStart(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	server := startSafe(t, dir)
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
	again := connect(t, startSafe(t, dir))
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
	server := startSafe(t, dir)
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

	exec1(t, connect(t, startSafe(t, dir)), `INSERT INTO kept VALUES (1)`)
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

func TestStartThatIsCutOffLeavesNoFiles(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	working, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := embedded.Start(working, embedded.Config{DataDir: dir})
		ended <- err
	}()
	unfinished := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "postgres.init-*"))
		must(t, err)
		return found
	}
	for len(unfinished()) == 0 {
		time.Sleep(time.Millisecond) // files appear without a signal; go test bounds the wait
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v, want context.Canceled", err)
	}
	if left := unfinished(); len(left) > 0 {
		t.Errorf("unfinished files are left: %v", left)
	}
	start(t, dir)
}

func TestServerLogGoesToTheLogger(t *testing.T) {
	t.Parallel()
	var lines lockedBuffer
	logger := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server := startWith(t, embedded.Config{DataDir: openDir(t), Fast: true, Logger: logger})
	conn := connect(t, server)
	exec1(t, conn, `CREATE TABLE secrets (word text UNIQUE)`)
	exec1(t, conn, `INSERT INTO secrets VALUES ('hunter2')`)
	if _, err := conn.Exec(t.Context(), `INSERT INTO secrets VALUES ('hunter2')`); err == nil {
		t.Fatal("the second row was taken")
	}
	must(t, server.Stop(t.Context()))

	log := lines.String()
	if !strings.Contains(log, "database system is ready") || !strings.Contains(log, "database system is shut down") {
		t.Errorf("the log lacks start or end:\n%s", log)
	}
	if strings.Contains(log, "hunter2") {
		t.Errorf("the log shows a value:\n%s", log)
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
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
