package upstream_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

const gatewayEnv = "HOLM_GATEWAY_FOR_KILL"

// runGatewayIfAsked makes the test binary a program that has an upstream and
// waits to be killed. It says the pid of the upstream.
func runGatewayIfAsked() {
	if os.Getenv(gatewayEnv) == "" {
		return
	}
	command, err := fix.Command()
	if err != nil {
		os.Exit(1)
	}
	opts := fix.Options{Modes: []string{fix.IgnoreEOF, fix.IgnoreTerm}}
	c, err := upstream.New(upstream.Server{Name: "x", Command: command, Env: opts.Env()}, quickConfig())
	if err != nil {
		os.Exit(1)
	}
	go func() { _ = c.Run(context.Background()) }()
	if _, err := c.Tools(context.Background()); err != nil {
		os.Exit(1)
	}
	fmt.Println(c.Health().PID)
	select {}
}

// Fault 1: not even kill -9 of the gateway leaves a server behind.
func TestFault01ServersEndWithAKilledGateway(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), gatewayEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || zombieOrGone(pid) {
		t.Fatalf("the server %q does not run: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as it should be
	eventually(t, "the server to end", func() bool { return zombieOrGone(pid) })
}
