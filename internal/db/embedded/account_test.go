package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holm/internal/db/embedded"
)

// What only root can try, a root test run tries; for another user there is nothing to check.
func onlyForRoot() bool { return os.Geteuid() == 0 }

func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if !onlyForRoot() {
		return // every other test runs as an ordinary user already
	}
	dir := openDir(t)
	must(t, os.Chmod(dir, 0o777))
	data := filepath.Join(dir, "deep", "holm")
	other := startHelper(t, program(t), data, nobody(t))
	if !strings.HasPrefix(other.said, "ready:") {
		t.Fatal(other.said)
	}
	pid := postmasterPid(t, data)
	exec1(t, connectTo(t, other), `CREATE TABLE kept (a int)`)
	other.kill(t)
	awaitGone(t, pid)

	again := startHelper(t, program(t), data, nobody(t))
	exec1(t, connectTo(t, again), `INSERT INTO kept VALUES (1)`)
	if uid := serverUID(t, postmasterPid(t, data)); uid != nobody(t).Uid {
		t.Errorf("the server runs as %d, want %d", uid, nobody(t).Uid)
	}
}

func TestUserWithoutAnEntry(t *testing.T) {
	t.Parallel()
	if !onlyForRoot() {
		return
	}
	dir := openDir(t)
	must(t, os.Chmod(dir, 0o777))
	other := startHelper(t, program(t), filepath.Join(dir, "holm"), &syscall.Credential{Uid: 54321, Gid: 54321})
	if !strings.Contains(other.said, "54321 has no entry in the user database") {
		t.Errorf("said %q, want an explanation", other.said)
	}
}

func TestFolderClosedToTheServersUser(t *testing.T) {
	t.Parallel()
	if !onlyForRoot() {
		return
	}
	closed := filepath.Join(openDir(t), "closed")
	must(t, os.Mkdir(closed, 0o700))
	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: filepath.Join(closed, "holm")})
	if err == nil || !strings.Contains(err.Error(), "cannot enter "+closed+" ") {
		t.Errorf("Start = %v, want an error naming %s", err, closed)
	}
}

func TestSocketFolderOfAnotherIsRefused(t *testing.T) {
	t.Parallel()
	if !onlyForRoot() {
		return
	}
	dir := openDir(t)
	squat := filepath.Join(dir, "postgres-run")
	must(t, os.Mkdir(squat, 0o777))
	must(t, os.Chown(squat, 54321, 54321))
	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Fast: true})
	if err == nil || !strings.Contains(err.Error(), "belongs to user id 54321") {
		t.Errorf("Start = %v, want a refusal", err)
	}
}

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/xdg")
	want := "/xdg/holm"
	if os.Geteuid() == 0 {
		want = "/var/lib/holm"
	}
	if dir, err := embedded.DefaultDataDir(); err != nil || dir != want {
		t.Errorf("DefaultDataDir = %q, %v; want %q", dir, err, want)
	}
}

func TestDataDirIsRequired(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Start(t.Context(), embedded.Config{}); err == nil {
		t.Error("Start without a data folder succeeded")
	}
}

func TestBinaries(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, BinDir: filepath.Join(dir, "none")})
	if !errors.Is(err, embedded.ErrNoBinaries) || !strings.Contains(err.Error(), "HOLM_PG_BIN="+dir) {
		t.Errorf("empty folder: %v, want ErrNoBinaries naming the setting", err)
	}

	must(t, os.Mkdir(filepath.Join(dir, "postgres"), 0o700))
	if _, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "holds no PostgreSQL database") {
		t.Errorf("folder of something else: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "postgres", "PG_VERSION"), []byte("9\n"), 0o600))
	_, err = embedded.Start(t.Context(), embedded.Config{DataDir: dir})
	if !errors.Is(err, embedded.ErrNoBinaries) || !strings.Contains(err.Error(), "made by PostgreSQL 9") || !strings.Contains(err.Error(), "docker compose up") {
		t.Errorf("files of PostgreSQL 9: %v, want ErrNoBinaries with the version and advice", err)
	}
}
