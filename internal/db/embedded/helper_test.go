package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"holm/internal/db/embedded"
)

// helperDir names the data folder for the test binary running as another Holm process.
const helperDir = "HOLM_EMBEDDED_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		os.Exit(helperMain(dir))
	}
	goleak.VerifyTestMain(m)
}

// helperMain starts a server, prints its address, and stops it when standard input ends.
func helperMain(dir string) int {
	server, err := embedded.Start(context.Background(), embedded.Config{DataDir: dir, Fast: true})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("ready:", server.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := server.Stop(context.Background()); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// helper is another Holm process with a server on a folder.
type helper struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	// said is its first line.
	said string
}

func startHelper(t *testing.T, program, dir string, as *syscall.Credential) *helper {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	h := &helper{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
	t.Cleanup(func() { h.stdin.Close(); _ = cmd.Wait() })
	h.said, err = h.out.ReadString('\n')
	must(t, err)
	return h
}

func (h *helper) kill(t *testing.T) {
	t.Helper()
	must(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
}

// program returns the test binary, copied to where other users can run it.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	data, err := os.ReadFile(self)
	must(t, err)
	path := filepath.Join(openDir(t), "holm")
	// A process forked meanwhile would hold the file open for writing until its
	// exec, and nobody could run it ("text file busy").
	syscall.ForkLock.RLock()
	err = os.WriteFile(path, data, 0o755)
	syscall.ForkLock.RUnlock()
	must(t, err)
	return path
}

// openDir is a folder that the server's user can pass through, unlike t.TempDir for root.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "holm-embedded-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o711))
	return dir
}

func start(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	return startWith(t, embedded.Config{DataDir: dir, Fast: true})
}

// startSafe starts a server that keeps its data whatever happens.
func startSafe(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	return startWith(t, embedded.Config{DataDir: dir})
}

func startWith(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop(context.Background())) })
	return server
}

func connect(t *testing.T, server *embedded.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql)
	must(t, err)
}

func postmasterPid(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	must(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	must(t, err)
	return pid
}

// awaitGone polls, because there is no signal about another's child.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); running(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// running is false for zombies, which wait for a parent that may never ask.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

// serverAccount is who the server runs as; nil stands for the test's own user.
func serverAccount(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Join(dir, "postgres"))
	must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}

func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	entry, err := user.Lookup("nobody")
	must(t, err)
	uid, err := strconv.ParseUint(entry.Uid, 10, 32)
	must(t, err)
	gid, err := strconv.ParseUint(entry.Gid, 10, 32)
	must(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connectTo(t *testing.T, h *helper) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), strings.TrimSpace(strings.TrimPrefix(h.said, "ready:")))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// postgresPath asks a server where its program is.
func postgresPath(t *testing.T) string {
	t.Helper()
	for _, pattern := range []string{os.Getenv("HOLM_PG_BIN") + "/postgres", "/usr/lib/postgresql/*/bin/postgres"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	path, err := exec.LookPath("postgres")
	must(t, err)
	return path
}

// startAndAwait starts a server by hand and returns once it is ready; the channel tells its end.
func startAndAwait(t *testing.T, cmd *exec.Cmd, dir string) <-chan error {
	t.Helper()
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
		if strings.Contains(string(text), "ready") {
			return ended
		}
		if time.Now().After(deadline) {
			t.Fatal("the server started by hand does not get ready")
		}
	}
}
