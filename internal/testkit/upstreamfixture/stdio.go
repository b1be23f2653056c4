package upstreamfixture

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// RunIfAsked makes the calling program the fixture when the environment of
// Options.Env is set, and then does not return. Call it first in TestMain of a
// package that uses its own test binary as the upstream command.
func RunIfAsked() {
	switch os.Getenv(envRun) {
	case roleMain:
		os.Exit(Main())
	case roleSleep:
		time.Sleep(5 * time.Minute)
		os.Exit(0)
	}
}

// Command is the command line of the fixture for programs that call RunIfAsked.
func Command() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the test binary: %w", err)
	}
	return []string{self}, nil
}

// Main serves on stdin and stdout with the options in the environment until
// stdin ends; it returns the exit code.
func Main() int {
	c := newCore(optionsFromEnv())
	if c.crashesAtStart() {
		fmt.Fprintln(os.Stderr, "fixture: crashing at the start")
		return 2
	}
	c.prepare()
	out := writer()
	p := &peer{out, out, newState()}
	serve(c, p)
	if c.is(IgnoreEOF) {
		time.Sleep(5 * time.Minute)
	}
	return 0
}

func (c *core) crashesAtStart() bool {
	if c.is(CrashFirst) {
		_, err := os.Stat(c.opts.State)
		appendLine(c.opts.State, []byte("started"))
		return err != nil
	}
	return c.is(CrashAtStart)
}

func (c *core) prepare() {
	if c.is(IgnoreTerm) {
		signal.Ignore(syscall.SIGTERM)
	}
	if c.is(Grandchild) {
		c.startGrandchild()
	}
	if c.is(StderrFlood) {
		flood()
	}
	if c.is(StdoutNoise) {
		fmt.Print("Fixture server v1.0 starting...\n\n{\"level\":\"info\",\"id\":1,\"error\":\"a log line in JSON\"}\n[1,2]\nnull\n\"text\"\n{broken\n")
	}
}

func (c *core) startGrandchild() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self)
	cmd.Env = []string{envRun + "=" + roleSleep}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.Start() == nil {
		appendLine(c.opts.State, []byte(strconv.Itoa(cmd.Process.Pid)))
	}
}

// writer writes whole lines, one at a time; a message that is not whole (that
// of a crash) goes out as it is.
func writer() func(string) {
	var mu sync.Mutex
	return func(message string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = os.Stdout.WriteString(message + "\n")
	}
}

func serve(c *core, p *peer) {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		line = bytes.TrimRight(line, "\n")
		if first && c.is(DiesOnUnknown) && !bytes.Contains(line, []byte(`"initialize"`)) {
			os.Exit(4)
		}
		if c.is(StdoutNoise) {
			p.send("DEBUG got a message")
		}
		if bytes.Contains(line, []byte(`"tools/call"`)) {
			go c.handle(p, line)
			continue
		}
		c.handle(p, line)
		if c.is(StopsReading) && bytes.Contains(line, []byte(`notifications/initialized`)) {
			time.Sleep(5 * time.Minute)
		}
	}
}
