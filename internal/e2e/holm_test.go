package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/internal/db/dbtest"
	"holm/internal/settings"
)

var binaries struct{ holm, fixture, adapter string }

// TestMain builds the programs once. Tests that wait more than they work run
// beside one another, more of them than there are processors.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "holm-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries.holm, binaries.fixture, binaries.adapter = filepath.Join(dir, "holm"), filepath.Join(dir, "fixture"), filepath.Join(dir, "adapter")
	for target, pkg := range map[string]string{
		binaries.holm: "holm/cmd/holm", binaries.fixture: "holm/internal/testkit/upstreamfixture/cmd/holm-fixture", binaries.adapter: "holm/examples/adapter",
	} {
		if err := build(target, pkg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := func() int {
		defer os.RemoveAll(dir)
		return m.Run()
	}()
	os.Exit(code)
}

// build makes a program, with the race detector when the tests have it.
func build(target, pkg string, flags ...string) error {
	args := append([]string{"build", "-o", target}, flags...)
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// process is a running holm with its data folder; it can be killed and started
// again.
type process struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	url     string
	cmd     *exec.Cmd
	log     *bytes.Buffer
	done    chan struct{}
}

// patience bounds each wait for the program.
const patience = 60 * time.Second

// newProcess starts `holm serve` on a database of the test's own.
func newProcess(t *testing.T, env ...string) *process {
	t.Helper()
	return startIn(t, append(env, "HOLM_DATABASE_URL="+dbtest.URL(t)))
}

// newEmbedded starts `holm serve` with its own PostgreSQL.
func newEmbedded(t *testing.T, env ...string) *process {
	t.Helper()
	return startIn(t, env)
}

func startIn(t *testing.T, env []string) *process {
	t.Helper()
	return startProgram(t, binaries.holm, env)
}

func startProgram(t *testing.T, program string, env []string) *process {
	t.Helper()
	dir, err := os.MkdirTemp("", "holm-e2e-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // the database's user must get in
		t.Fatal(err)
	}
	p := &process{t: t, program: program, dir: dir, env: append(env, "HOLM_DATA_DIR="+dir, "HOLM_LISTEN=127.0.0.1:0")}
	p.start()
	t.Cleanup(p.stop)
	return p
}

// environ is a clean environment: settings of the tester must not reach holm.
func (p *process) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "HOLM_") })
	return append(env, p.env...)
}

// start runs the program and waits until it says that it is ready.
func (p *process) start() {
	p.t.Helper()
	if err := p.launch(); err != nil {
		p.t.Fatalf("%v:\n%s", err, p.log)
	}
}

// launch is start for those who expect that it may fail.
func (p *process) launch() error {
	p.cmd = exec.Command(p.program, "serve")
	p.cmd.Env = p.environ()
	p.log = &bytes.Buffer{}
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ready, done := make(chan string, 1), make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), "ready at "); ok {
				url, _, _ := strings.Cut(rest, " ")
				ready <- url
			}
		}
		_ = p.cmd.Wait()
	}()
	select {
	case <-ready:
		// The public address may lead elsewhere; tests talk to this very process.
		local, ok, err := settings.FindLocalServer(p.dir)
		if err != nil || !ok {
			return fmt.Errorf("holm left no note of where it answers: %w", err)
		}
		p.url = local.URL
		return nil
	case <-done:
		return errors.New("holm ended at its start")
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-done
		return fmt.Errorf("holm was not ready in %s", patience)
	}
}

// kill ends the program without any chance to tidy up.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// stop ends the program as an operator does, and looks at what it wrote.
func (p *process) stop() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err == nil {
		select {
		case <-p.done:
		case <-time.After(patience):
			p.t.Errorf("holm did not stop within %s", patience)
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	if strings.Contains(p.log.String(), "DATA RACE") {
		p.t.Errorf("holm had a data race:\n%s", p.log)
	}
	if p.t.Failed() {
		p.t.Logf("holm said:\n%s", p.log)
	}
}

// holm runs a command of the CLI and gives its output.
func (p *process) holm(args ...string) string {
	p.t.Helper()
	out, code := p.try(args...)
	if code != 0 {
		p.t.Fatalf("holm %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func (p *process) try(args ...string) (output string, code int) {
	p.t.Helper()
	cmd := exec.Command(binaries.holm, args...)
	cmd.Env = p.environ()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errOut.String(), exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return out.String(), 0
}

// field runs a command with --json and gives one field of its answer.
func (p *process) field(name string, args ...string) string {
	p.t.Helper()
	out := p.holm(append(args, "--json")...)
	var fields map[string]any
	if err := json.Unmarshal([]byte(out), &fields); err != nil {
		p.t.Fatalf("holm %v printed %q: %v", args, out, err)
	}
	return fmt.Sprint(fields[name])
}

// setUp registers the fixture as server "fix" and an agent that may use its
// record tool with approval, and gives the agent's key and the file in which
// the fixture notes the arguments it saw.
func (p *process) setUp(agent string) (key string, seen func() []string) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "seen")
	p.holm("add", "server", "fix", "--command", binaries.fixture, "--env", "FIXTURE_LOG="+file)
	if agent == "main" {
		key = p.field("key", "rotate", "agent", agent)
	} else {
		key = p.field("key", "add", "agent", agent)
	}
	p.holm("grant", agent, "fix", "--tool", "record", "--ask")
	return key, func() []string {
		b, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
}

// connect opens an MCP session; hold is how long its calls wait.
func (p *process) connect(key, hold string) *mcp.ClientSession {
	p.t.Helper()
	return p.connectAs("2025-11-25", key, hold)
}

// connectAs is connect with a version of the protocol; empty lets the client
// choose, which takes the newest it knows.
func (p *process) connectAs(version, key, hold string) *mcp.ClientSession {
	p.t.Helper()
	session, err := dial(p.t.Context(), p.url, version, key, hold)
	if err != nil {
		p.t.Fatalf("connect: %v\n%s", err, p.log)
	}
	p.t.Cleanup(func() { _ = session.Close() })
	return session
}

func dial(ctx context.Context, url, version, key, hold string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             url + "/mcp",
		HTTPClient:           &http.Client{Transport: headers{"Authorization": "Bearer " + key, "Holm-Hold": hold}},
		DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// reply is what a call gave.
type reply struct {
	Text, Kind string
	Failed     bool
	Err        error
}

func call(ctx context.Context, s *mcp.ClientSession, args map[string]any) reply {
	return callNamed(ctx, s, "mcp__fix__record", args)
}

func callNamed(ctx context.Context, s *mcp.ClientSession, name string, args map[string]any) reply {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return reply{Err: err}
	}
	got := reply{Failed: result.IsError}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			got.Text += text.Text
		}
	}
	if m, ok := result.StructuredContent.(map[string]any); ok {
		got.Kind, _ = m["error_type"].(string)
	}
	return got
}

func later(ctx context.Context, s *mcp.ClientSession, args map[string]any) <-chan reply {
	return laterNamed(ctx, s, "mcp__fix__record", args)
}

func laterNamed(ctx context.Context, s *mcp.ClientSession, name string, args map[string]any) <-chan reply {
	done := make(chan reply, 1)
	go func() { done <- callNamed(ctx, s, name, args) }()
	return done
}

// eventually tries until it succeeds: for states that nothing tells of.
func (p *process) eventually(try func() error) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for err := try(); err != nil; err = try() {
		if time.Now().After(deadline) {
			p.t.Fatalf("still after %s: %v\n%s", patience, err, p.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// addSlow registers the fixture as server "lazy" with a tool "slow" that needs
// approval, and gives a function that waits until n calls of it have arrived.
func (p *process) addSlow(agent string) (arrived func(n int)) {
	p.t.Helper()
	trace := filepath.Join(p.t.TempDir(), "trace")
	p.holm("add", "server", "lazy", "--command", binaries.fixture, "--env", "FIXTURE_TRACE="+trace)
	p.holm("grant", agent, "lazy", "--tool", "slow", "--ask")
	return func(n int) {
		p.t.Helper()
		p.eventually(func() error {
			b, err := os.ReadFile(trace)
			if got := bytes.Count(b, []byte(`"tools/call"`)); got != n {
				return fmt.Errorf("%d calls arrived, want %d (%v)", got, n, err)
			}
			return nil
		})
	}
}

const slowTool = "mcp__lazy__slow"

// within takes a reply, or fails the test.
func (p *process) within(done <-chan reply) reply {
	p.t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(patience):
		p.t.Fatalf("no reply within %s\n%s", patience, p.log)
		return reply{}
	}
}

// event is one server-sent event of a session.
type event struct {
	ID, Type string
	Data     json.RawMessage
}

// payload reads what the event says.
func (e event) payload(t *testing.T, into any) {
	t.Helper()
	var whole struct{ Payload json.RawMessage }
	if err := json.Unmarshal(e.Data, &whole); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(whole.Payload, into); err != nil {
		t.Fatal(err)
	}
}

// session is the one that the event is of.
func (e event) session(t *testing.T) string {
	t.Helper()
	var whole struct{ SessionID string }
	if err := json.Unmarshal(e.Data, &whole); err != nil {
		t.Fatal(err)
	}
	return whole.SessionID
}

// stream follows a session's events with the agent's own key.
func (p *process) stream(agent, key, session string) <-chan event {
	p.t.Helper()
	return p.follow("/api/agents/"+agent+"/sessions/"+session+"/events", key)
}

// follow follows a stream of events.
func (p *process) follow(path, key string) <-chan event {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Last-Event-ID", "0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		p.t.Fatalf("events: status %d: %s", resp.StatusCode, body)
	}
	events := make(chan event, 100)
	go func() {
		defer resp.Body.Close()
		defer close(events)
		var e event
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.ID = value
			case "event":
				e.Type = value
			case "data":
				e.Data = json.RawMessage(value)
			case "":
				if e.Type != "" {
					events <- e
				}
				e = event{}
			}
		}
	}()
	return events
}

// nextEvent waits for an event of the type.
func (p *process) nextEvent(events <-chan event, eventType string) event {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				p.t.Fatalf("the stream ended before %s\n%s", eventType, p.log)
			}
			if e.Type == eventType {
				return e
			}
		case <-timeout:
			p.t.Fatalf("no %s event within %s\n%s", eventType, patience, p.log)
		}
	}
}
