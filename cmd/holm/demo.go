package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/bot"
	"holm/channels/console"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/demo"
	"holm/internal/identity"
	"holm/internal/servers"
	"holm/internal/settings"
	"holm/policy"
	"holm/policy/rulestore"
)

// demoOwner is the console's person, called by demoOwnerName on cards and
// towards the agent.
const (
	demoOwner     = "you"
	demoOwnerName = "the owner"
)

// newDemoCommand shows the whole round of one gated call without any account.
func newDemoCommand(flags *settings.Flags) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See a gated call, approve it here, and see it run",
		Long: "Start Holm with a throw-away database, a pretend shop as upstream server and an agent that wants\n" +
			"to send a refund. The approval card appears in this terminal. Nothing is kept afterwards.",
		Example: "  holm demo\n  holm demo --yes   # answers by itself and ends, for scripts",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := settings.Load(*flags)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runDemo(ctx, s, yes, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "approve by itself and exit after the round")
	return cmd
}

// newDemoUpstreamCommand is the pretend shop; the demo registers it as a
// server that is started by a command.
func newDemoUpstreamCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo-upstream", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo.ServeUpstream(cmd.Context()) },
	}
}

func runDemo(ctx context.Context, s settings.Settings, yes bool, in io.Reader, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "holm-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database runs as another user when started as root, and has to get in.
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	s = settings.Settings{DataDir: dir, PGBin: s.PGBin, Agent: "demo", Listen: s.Listen, Hold: s.Hold, Realtime: s.Realtime, TimeZone: cmp.Or(s.TimeZone, "Local"), Limits: s.Limits}
	if yes || !free(s.Listen) {
		s.Listen = "127.0.0.1:0"
	}
	if s, err = s.WithSecrets(); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	d := &demoRound{out: out, yes: yes, end: end, answered: make(chan struct{})}
	card, err := console.New(console.Config{In: endReader{in, d.inputEnded}, Out: out, Identity: demoOwner, Auto: yes})
	if err != nil {
		return err
	}
	a := &app{
		settings: s, log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		extra:  []bot.Channel{card},
		owners: map[identity.Address]string{{Channel: card.Namespace(), Identity: demoOwner}: demoOwnerName},
	}
	d.app = a
	fmt.Fprintln(out, "Starting Holm with a database of its own …")
	err = a.run(ctx, func(url string) { go d.play(ctx, url) })
	if errors.Is(err, errDemoOver) {
		return nil
	}
	return err
}

// demoRound is the demo's script.
type demoRound struct {
	app      *app
	out      io.Writer
	yes      bool
	end      context.CancelCauseFunc
	answered chan struct{}
}

// errDemoOver ends the demo well.
var errDemoOver = errors.New("the demo is over")

// errDemoInput ends a demo that nobody can answer.
var errDemoInput = errors.New("the input ended before the card was answered; run: holm demo --yes")

func (d *demoRound) play(ctx context.Context, url string) {
	key, err := d.prepare(ctx)
	if err == nil {
		err = d.round(ctx, url, key)
	}
	close(d.answered)
	switch {
	case err != nil:
		d.end(err)
	case d.yes:
		d.end(errDemoOver)
	default:
		d.say("Holm keeps running with this database until Ctrl-C; cards of further calls appear here.\n")
	}
}

// endReader calls ended when there is nothing more to read.
type endReader struct {
	io.Reader
	ended func()
}

func (r endReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		r.ended()
	}
	return n, err
}

// inputEnded is called when the console can read no more answers: a card that
// is still open will never be answered then.
func (d *demoRound) inputEnded() {
	select {
	case <-d.answered:
	default:
		if !d.yes {
			d.end(errDemoInput)
		}
	}
}

func (d *demoRound) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// prepare does what `holm add server`, `add agent` and `grant` do.
func (d *demoRound) prepare(ctx context.Context) (key string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	a := d.app
	if _, err := a.servers.Add(ctx, servers.Server{Name: demo.Server, Command: []string{self, "demo-upstream"}}, "admin"); err != nil {
		return "", err
	}
	agent := a.settings.Agent
	err = db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		if key, err = identity.CreateKey(ctx, tx, agent, "", nil, "admin"); err != nil {
			return err
		}
		for tool, effect := range map[string]policy.Effect{demo.SafeTool: policy.Allow, demo.RiskyTool: policy.RequireApproval} {
			_, err := rulestore.Put(ctx, tx, policy.Row{
				AgentID: agent, ResourceType: policy.TypeTool, ResourceKey: "mcp__" + demo.Server + "__" + tool,
				Effect: effect, Grants: []policy.Grant{policy.Any()},
			}, "admin")
			if err != nil {
				return err
			}
		}
		return nil
	})
	a.rules.Changed(agent)
	return key, err
}

// toolsApart parts Holm's own tools from those of servers.
func toolsApart(tools []string) (own, served []string) {
	for _, name := range tools {
		if strings.HasPrefix(name, "mcp__") {
			served = append(served, name)
		} else {
			own = append(own, name)
		}
	}
	return own, served
}

func (d *demoRound) round(ctx context.Context, url, key string) error {
	agent, err := demo.Connect(ctx, url+"/mcp", key, "10m")
	if err != nil {
		return err
	}
	defer agent.Close()
	tools, err := agent.Tools(ctx)
	if err != nil {
		return err
	}
	own, shop := toolsApart(tools)
	d.say("\nAn agent connected to %s/mcp. It may see: %s; and Holm's own %s", url, strings.Join(shop, ", "), strings.Join(own, ", "))

	result, failed, err := agent.Call(ctx, demo.SafeTool, map[string]any{})
	if err != nil || failed {
		return errors.Join(err, resultError(failed, result))
	}
	d.say("\nThe agent called %s. Policy allows it, so it ran at once:\n%s", demo.SafeTool, indent(result))

	d.say("\nThe agent now calls %s. Policy wants an owner to approve that, so the call waits for you.", demo.RiskyTool)
	if !d.yes {
		d.say("Answer with the letter of a button and Enter; r takes a reason: r too expensive.")
	}
	result, failed, err = agent.Call(ctx, demo.RiskyTool, map[string]any{
		"order": "1042", "amount": "49.90 EUR", "reason": "the parcel came back",
	})
	if err != nil {
		return err
	}
	if failed {
		d.say("\nThe agent was told:\n%s", indent(result))
	} else {
		d.say("\nThe waiting call ran, once, and the agent has its result:\n%s", indent(result))
	}
	d.awaitCard(ctx)
	if err := d.showRecord(ctx); err != nil {
		return err
	}
	d.nextSteps(url, key)
	if d.yes {
		return resultError(failed, result)
	}
	return nil
}

// awaitCard lets the card's last line come before what follows it. It gives up
// after a moment: the card is not what the demo depends on.
func (d *demoRound) awaitCard(ctx context.Context) {
	for range 100 {
		if behind, err := approvals.CardsBehind(ctx, d.app.pool, d.app.settings.Agent); err != nil || !behind {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// showRecord tells what the audit log has of the round.
func (d *demoRound) showRecord(ctx context.Context) error {
	for {
		n, err := d.app.chainer.Chain(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	report, err := audit.Verify(ctx, d.app.pool, audit.Anchor{})
	if err != nil {
		return err
	}
	if report.Broken != nil {
		return report.Broken
	}
	d.say("\nThe audit log holds %d records of this; its hash chain is intact.", report.Head.Seq)
	return nil
}

func (d *demoRound) nextSteps(url, key string) {
	d.say("\nWhat to try next")
	if !d.yes {
		d.say(`  Call again from an MCP client while this demo runs, here Claude Code:
    claude mcp add --transport http holm %[1]s/mcp --header "Authorization: Bearer %[2]s"`, url, key)
	}
	d.say(`  Run it for real:           holm serve
  Put a server behind it:    holm add server SERVER --command "…", holm add agent AGENT, holm grant AGENT SERVER --ask
  Connect Claude Code:       claude mcp add --transport http holm http://127.0.0.1:4767/mcp --header "Authorization: Bearer KEY"
  Approve on Telegram:       HOLM_TELEGRAM_TOKEN=… holm serve, then holm invite --agent AGENT --role owner
  Approve on Slack:          HOLM_SLACK_APP_TOKEN=… HOLM_SLACK_BOT_TOKEN=… holm serve, then the same
  Approve on Discord:        HOLM_DISCORD_TOKEN=… holm serve, then the same
  Each step is in README.md.`)
}

func resultError(failed bool, result string) error {
	if failed {
		return fmt.Errorf("the call failed: %s", result)
	}
	return nil
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
