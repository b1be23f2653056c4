package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/internal/client"
	"holm/internal/session"
	"holm/internal/settings"
	"holm/policy"
)

// maxWait bounds, in seconds, how long the gate waits for a person.
const maxWait = 300

// gateFlags are what guard and hook share.
type gateFlags struct {
	agent, keyFile, session string
	wait                    int
}

func (f *gateFlags) add(cmd *cobra.Command, wait int) {
	cmd.Flags().StringVar(&f.agent, "agent", "", "the agent of the key; default that of HOLM_AGENT, else "+settings.DefaultAgent)
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "file with the agent's key; default HOLM_AGENT_KEY")
	cmd.Flags().StringVar(&f.session, "session", "", "act for the person who wrote in this session of the agent; default HOLM_SESSION")
	cmd.Flags().IntVar(&f.wait, "wait", wait, "seconds to wait for an approval, at most 300")
}

// connectAgent gives a client that speaks with the agent's key, and completes f
// from the settings.
func (c *cli) connectAgent(f *gateFlags) (holm *client.Client, agent string, err error) {
	if f.wait < 0 || f.wait > maxWait {
		return nil, "", usagef("--wait: want 0 to %d seconds", maxWait)
	}
	s, err := settings.Load(c.flags)
	if err != nil {
		return nil, "", err
	}
	key := s.AgentKey
	if f.keyFile != "" {
		text, err := os.ReadFile(f.keyFile)
		if err != nil {
			return nil, "", &settings.Error{Setting: "--key-file", Message: err.Error()}
		}
		key = strings.TrimSpace(string(text))
	}
	if key == "" {
		return nil, "", &settings.Error{Setting: "HOLM_AGENT_KEY", Message: "is not set; give the agent's key in it or with --key-file"}
	}
	agent = cmp.Or(f.agent, s.Agent)
	f.session = cmp.Or(f.session, s.Session)
	if s.URL != "" {
		return client.New(s.URL, key, version), agent, nil
	}
	local, ok, err := settings.FindLocalServer(s.DataDir)
	if err == nil && !ok {
		err = &notRunningError{dataDir: s.DataDir}
	}
	return client.New(local.URL, key, version), agent, err
}

func (c *cli) newGuardCommand() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use: "guard -- CMD [ARG]…", Short: "Run a command if the gate lets it",
		Long: "Ask the gate for the command (a resource of the type exec, with its working directory) and run it when it is\n" +
			"allowed or approved: the very program and arguments that were asked about, without a shell, with this standard\n" +
			"input and output, and with its exit code. Otherwise nothing runs: exit code 4 denied or rejected, 5 not answered\n" +
			"yet (the same command again asks for the answer), 1 no server answers, 78 a setting cannot be used.",
		Example: "  holm guard -- terraform apply plan.out\n  holm guard --agent ci --key-file /run/secrets/holm --wait 60 -- make deploy",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("CMD is missing; usage: holm guard [flags] -- CMD [ARG]…")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, agent, err := c.connectAgent(&f)
			if err != nil {
				return err
			}
			return guard(cmd, holm, agent, f, args)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows CMD is its own
	f.add(cmd, maxWait)
	return cmd
}

// guard asks and runs.
func guard(cmd *cobra.Command, holm *client.Client, agent string, f gateFlags, argv []string) error {
	run, err := program(argv)
	if err != nil {
		return err
	}
	question, err := execQuestion(argv, run.Path, run.Dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	permission, err := holm.Enforce(ctx, agent, client.Enforcement{Check: question, SessionID: f.session, Wait: f.wait})
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && interrupted {
		return errors.New("interrupted while waiting for the gate; nothing was run")
	}
	if err != nil {
		return ofKey(err, agent)
	}
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	outcome, message, err := execute(run)
	if permission.RequestID != "" {
		tellOutcome(cmd, holm, agent, permission.RequestID, outcome, message)
	}
	return err
}

// ofKey says what helps where the key is another agent's: to it, this one does not exist.
func ofKey(err error, agent string) error {
	var problem *client.Problem
	if !isNotFound(err) || errors.As(err, &problem) && problem.Code == session.CodeNoSession {
		return err
	}
	return &exitError{code: exitNotFound, message: fmt.Sprintf("to this key there is no agent %q; name the agent of the key with --agent or HOLM_AGENT", agent)}
}

// program finds what is to run before anybody is asked about it.
func program(argv []string) (*exec.Cmd, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, &exitError{code: exitNoProgram, message: fmt.Sprintf("%s: %v", argv[0], errors.Unwrap(err))}
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: argv, Dir: dir}, nil
}

// execQuestion asks for a command as people read it. The program that the name
// stands for is told beside it.
func execQuestion(argv []string, program, dir string) (client.Check, error) {
	text := commandText(argv)
	scope, err := json.Marshal(map[string]string{"cwd": dir})
	if err != nil {
		return client.Check{}, err
	}
	args, err := json.Marshal(map[string]string{"command": text, "cwd": dir, "program": program})
	if err != nil {
		return client.Check{}, err
	}
	return client.Check{Resource: client.Resource{Type: policy.TypeExec, Key: text, Scope: scope}, Args: args}, nil
}

// execute runs a command to its end, passing signals on to it.
func execute(run *exec.Cmd) (approvals.Outcome, string, error) {
	signals := make(chan os.Signal, 16)
	// Noted rather than ignored: the command would inherit that.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	shared := hasTerminal()
	if err := run.Start(); err != nil {
		return approvals.Failed, "it could not be started: " + err.Error(), &exitError{code: exitNotRunnable, message: err.Error()}
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for {
		select {
		case s := <-signals:
			if !shared || s != syscall.SIGINT && s != syscall.SIGQUIT {
				_ = run.Process.Signal(s) // it may have ended meanwhile
			}
		case err := <-ended:
			return outcomeOf(run, err)
		}
	}
}

func outcomeOf(run *exec.Cmd, err error) (approvals.Outcome, string, error) {
	if err == nil {
		return approvals.Succeeded, "", nil
	}
	if run.ProcessState == nil {
		return approvals.Failed, err.Error(), err
	}
	code := run.ProcessState.ExitCode()
	if status, ok := run.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return approvals.Failed, run.ProcessState.String(), &exitError{code: code}
}

// hasTerminal tells that there is a terminal, which sends its own signals to all
// of its foreground processes: to the command as to us.
func hasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return tty.Close() == nil
}

// reportPatience bounds the report of an outcome: the command's exit code is not
// to wait for it.
const reportPatience = 10 * time.Second

// tellOutcome reports what became of an approved command. That it cannot changes
// nothing: the outcome is then shown as unknown.
func tellOutcome(cmd *cobra.Command, holm *client.Client, agent, requestID string, outcome approvals.Outcome, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), reportPatience)
	defer cancel()
	if err := holm.Report(ctx, agent, requestID, outcome, message); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "holm: the outcome could not be reported: %s\n", oneLine(err.Error()))
	}
}
