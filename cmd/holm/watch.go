package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/internal/client"
	"holm/internal/session"
	"holm/internal/stamp"
)

func (c *cli) newWatchCommand(agent *string) *cobra.Command {
	var answer bool
	cmd := &cobra.Command{
		Use: "watch [AGENT]", Short: "Show what waits for an answer and what is decided, as it happens", Args: atMost("AGENT"),
		Long: "Show the open requests of an agent, and what is asked, decided and executed from now on, until Ctrl-C. A lost\n" +
			"connection is taken up again. With --answer each request is answered here: a approves this call, o for the\n" +
			"rule's time, p always with any arguments, e always with these arguments, r rejects (r REASON), d asks to try\n" +
			"it differently (d REASON), s skips; then Enter. --json prints one event a line.",
		Example: "  holm approvals watch claude\n  holm approvals watch claude --answer",
		RunE: func(cmd *cobra.Command, args []string) error {
			if answer && c.json {
				return usagef("--answer and --json do not go together")
			}
			if len(args) == 1 {
				*agent = args[0]
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			holm, name, err := c.connectFor(ctx, *agent)
			if err != nil {
				return err
			}
			w := &watch{holm: holm, agent: name, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), json: c.json, skipped: map[string]bool{}}
			if answer {
				w.lines = linesOf(cmd.InOrStdin())
			}
			return w.run(ctx)
		},
	}
	cmd.Flags().BoolVar(&answer, "answer", false, "answer each request here")
	return cmd
}

// watch is a terminal that shows an agent's requests.
type watch struct {
	holm        *client.Client
	agent       string
	out, errOut io.Writer
	json        bool
	// lines are what is typed; nil when nobody answers here.
	lines <-chan string
	// open are the requests that wait, the oldest first; skipped are those among
	// them that are left to others.
	open    []approvals.PendingEvent
	skipped map[string]bool
	// asked is the request whose question is on the screen, empty for none.
	asked string
	// overtaken is set when that question went away by itself: what is typed next
	// may have been meant for it.
	overtaken bool
}

// run shows events until ctx ends, which is a good end, or the server refuses.
func (w *watch) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, ended := make(chan session.Event), make(chan error, 1)
	go func() {
		ended <- w.holm.Read(ctx, client.Events{
			Agent: w.agent, Live: true, Follow: true,
			Interrupted: func(err error) { fmt.Fprintf(w.errOut, "holm: %s; trying again\n", oneLine(err.Error())) },
		}, func(e session.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		select {
		case err := <-ended:
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		case e := <-events:
			if err := w.event(ctx, e); err != nil {
				return err
			}
		case line, ok := <-w.lines:
			if !ok {
				w.lines = nil
				fmt.Fprintln(w.errOut, "holm: the input has ended, so nobody can answer here; what happens is only shown from now on")
				continue
			}
			if err := w.typed(ctx, line); err != nil {
				return err
			}
		}
	}
}

// event shows one event of an approval, and asks when there is something new
// to ask.
func (w *watch) event(ctx context.Context, e session.Event) error {
	switch e.Type {
	case session.ApprovalPending:
		var p approvals.PendingEvent
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		if w.index(p.RequestID) >= 0 {
			return nil // told anew after a break
		}
		w.open = append(w.open, p)
		w.show(e, p.ShortID, "waits", fmt.Sprintf("%s from %s, until %s", p.ResourceKey, p.RequesterName, when(p.ExpiresAt)))
	case session.ApprovalResolved:
		var p struct {
			RequestID   string
			ShortID     int
			ResourceKey string
			Decision    approvals.Status
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		w.close(p.RequestID)
		w.show(e, p.ShortID, string(p.Decision), p.ResourceKey+w.how(ctx, p.RequestID))
	case session.ApprovalExecuted:
		var p struct {
			ShortID              int
			ResourceKey, Outcome string
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		w.show(e, p.ShortID, p.Outcome, p.ResourceKey)
	default:
		return nil
	}
	w.ask()
	return nil
}

// show prints an event in a line.
func (w *watch) show(e session.Event, number int, what, text string) {
	if w.json {
		_ = json.NewEncoder(w.out).Encode(e)
		return
	}
	fmt.Fprintf(w.out, "%s  #%d  %s  %s\n", stamp.Clock(e.CreatedAt), number, oneLine(what), oneLine(text))
}

// how says by whom and for how long; nothing when the request cannot be read
// now.
func (w *watch) how(ctx context.Context, id string) string {
	r, err := w.holm.Approval(ctx, w.agent, id)
	if err != nil {
		return ""
	}
	text := ""
	if r.Resolution != nil {
		text = ", " + resolutionText(r)
	}
	if r.ResolvedName != nil {
		text += " by " + *r.ResolvedName
	}
	if r.TryDifferently {
		text += ", to be tried differently"
	}
	if r.Reason != nil {
		text += ": " + *r.Reason
	}
	return text
}

func (w *watch) index(id string) int {
	return slices.IndexFunc(w.open, func(p approvals.PendingEvent) bool { return p.RequestID == id })
}

// close takes a request from those that wait.
func (w *watch) close(id string) {
	if i := w.index(id); i >= 0 {
		w.open = slices.Delete(w.open, i, i+1)
	}
	delete(w.skipped, id)
	if w.asked == id {
		w.asked, w.overtaken = "", true
	}
}
