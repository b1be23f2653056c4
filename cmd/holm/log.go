package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"holm/internal/audit"
	"holm/internal/client"
	"holm/internal/stamp"
)

func (c *cli) newLogCommand() *cobra.Command {
	var l client.Calls
	cmd := &cobra.Command{
		Use: "log", Short: "Show what became of calls", Args: exactly(),
		Long: "Show the newest calls, the newest last, as the audit log has them: allowed, denied, error (it failed, or its\n" +
			"outcome is lost), approval (a person was asked) or unfinished (it runs, or its process died). With -f further\n" +
			"ones appear as they end; a lost server is asked again. --json prints one object a line.",
		Example: "  holm log\n  holm log -n 100 --agent claude --status denied\n  holm log --server git -f",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if l.Last < 1 || l.Last > 1000 {
				return usagef("-n: want 1 to 1000")
			}
			if l.Status != "" && !slices.Contains(logStatuses, l.Status) {
				return usagef("--status: want one of %s", strings.Join(logStatuses, ", "))
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			l.Interrupted = func(err error) {
				fmt.Fprintf(cmd.ErrOrStderr(), "holm: %s; trying again\n", oneLine(err.Error()))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.printLog(ctx, cmd.OutOrStdout(), holm, l)
		},
	}
	cmd.Flags().IntVarP(&l.Last, "number", "n", 50, "begin with so many of the newest")
	cmd.Flags().StringVar(&l.Agent, "agent", "", "calls of one agent alone")
	cmd.Flags().StringVar(&l.Server, "server", "", "calls of one server's tools alone")
	cmd.Flags().StringVar(&l.Status, "status", "", "allowed, denied, error, approval or unfinished; default all")
	cmd.Flags().BoolVarP(&l.Follow, "follow", "f", false, "stay, and show what comes")
	return cmd
}

var logStatuses = []string{string(audit.Allowed), string(audit.Denied), string(audit.Failed), string(audit.Asked), string(audit.Unfinished)}

func (c *cli) printLog(ctx context.Context, w io.Writer, holm *client.Client, l client.Calls) error {
	if c.json {
		encoder := json.NewEncoder(w)
		return holm.Log(ctx, l, func(call audit.Call) error { return encoder.Encode(call) })
	}
	return holm.Log(ctx, l, func(call audit.Call) error {
		_, err := fmt.Fprintln(w, logLine(call))
		return err
	})
}

// logLine has its columns at fixed places, so that lines that come later stand
// below the others.
func logLine(call audit.Call) string {
	return strings.TrimRight(fmt.Sprintf("%s  %-10s  %-12s  %-12s  %-20s  %8s  %s", stamp.Second(call.At), call.Status,
		oneLine(call.AgentID), oneLine(cmp.Or(call.Server, "-")), oneLine(call.Tool), took(call.MS), oneLine(logReason(call))), " ")
}

func took(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

// logReason names the request, the rule and what else is known.
func logReason(call audit.Call) string {
	var parts []string
	if call.ShortID != 0 {
		parts = append(parts, fmt.Sprintf("request %d", call.ShortID))
	}
	if call.RuleID != "" {
		parts = append(parts, "rule "+call.RuleID)
	}
	if call.Why != "" {
		parts = append(parts, call.Why)
	}
	return strings.Join(parts, "; ")
}
