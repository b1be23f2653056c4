package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/internal/client"
	"holm/internal/identity"
	"holm/internal/settings"
)

func (c *cli) newApprovalsCommand() *cobra.Command {
	var agent string
	cmd := group("approvals", "See and answer approval requests",
		c.newApprovalsListCommand(&agent), c.newApprovalsShowCommand(&agent), c.newApproveCommand(&agent), c.newRejectCommand(&agent),
		c.newCancelCommand(&agent), c.newWatchCommand(&agent), c.newGrantsCommand(&agent), c.newRevokeGrantCommand(&agent))
	cmd.Aliases = []string{"approval"}
	cmd.PersistentFlags().StringVar(&agent, "agent", "", "the agent; default that of HOLM_AGENT, or the only one there is")
	return cmd
}

// connectFor connects and chooses the agent: the named one, else that of the
// settings if it exists, else the only one there is.
func (c *cli) connectFor(ctx context.Context, named string) (*client.Client, string, error) {
	holm, s, err := c.connect()
	if err != nil || named != "" {
		return holm, named, err
	}
	agents, err := holm.Agents(ctx)
	if err != nil {
		return nil, "", err
	}
	agent, err := chooseAgent(agents, s)
	return holm, agent, err
}

func chooseAgent(agents []identity.Agent, s settings.Settings) (string, error) {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.ID
	}
	switch {
	case slices.Contains(names, s.Agent):
		return s.Agent, nil
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", usagef("there is no agent yet; register one: holm add agent NAME")
	}
	return "", usagef("name the agent with --agent: %s", strings.Join(names, ", "))
}

func (c *cli) newApprovalsListCommand(agent *string) *cobra.Command {
	var status string
	var duplicates bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List requests, the newest first", Args: exactly(),
		Example: "  holm approvals list --status pending\n  holm approvals list --json | jq '.[].shortId'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usagef("--limit: want at least 1")
			}
			holm, name, err := c.connectFor(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			list, err := holm.Approvals(cmd.Context(), name, status, duplicates, limit)
			if err != nil {
				return err
			}
			return c.print(cmd, list, func(w io.Writer) { printRequests(w, name, list) })
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "pending, approved, rejected, expired or cancelled; default all")
	cmd.Flags().BoolVar(&duplicates, "duplicates", false, "also requests that share another one's question; else they are counted there")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many")
	return cmd
}

func printRequests(w io.Writer, agent string, list []approvals.Wire) {
	if len(list) == 0 {
		fmt.Fprintf(w, "No requests of agent %s.\n", oneLine(agent))
		return
	}
	table(w, "NO STATUS TOOL REQUESTER ASKED ANSWER", func(row func(...any)) {
		for _, r := range list {
			row(r.ShortID, r.Status, r.ResourceKey, r.RequesterName, when(r.CreatedAt), answerText(r))
		}
	})
}

// answerText says in a few words where a request stands.
func answerText(r approvals.Wire) string {
	switch {
	case r.Status == approvals.Pending && r.DuplicateOf != nil:
		return fmt.Sprintf("waits with %d", r.DuplicateOfNumber)
	case r.Status == approvals.Pending:
		text := "open for " + time.Until(r.ExpiresAt).Round(time.Second).String()
		if r.Asked > 1 {
			text += fmt.Sprintf(", asked %d times", r.Asked)
		}
		if r.UndeliveredAt != nil {
			text += ", undelivered"
		}
		return text
	case r.Outcome != nil:
		return string(*r.Outcome)
	case r.Stopped != nil && r.Status == approvals.Approved:
		return "not run: " + *r.Stopped
	case r.Resolution != nil:
		return resolutionText(r) + " by " + orDash(r.ResolvedName)
	}
	return cmp.Or(orDash(r.Reason), "-")
}

func (c *cli) newApprovalsShowCommand(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "show NUMBER", Short: "Show a request with its arguments", Args: exactly("NUMBER"),
		Example: "  holm approvals show 12",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, name, err := c.connectFor(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			r, err := holm.Approval(cmd.Context(), name, requestName(args[0]))
			if err != nil {
				return elsewhere(err, *agent, name)
			}
			return c.print(cmd, r, func(w io.Writer) { printRequest(w, r) })
		},
	}
}

// cardLine says where a card is, and since when or why not.
func cardLine(d approvals.Delivery) string {
	text := fmt.Sprintf("%s:%s %s", d.Channel, d.Identity, d.State)
	if d.SentAt != nil {
		text += " " + when(*d.SentAt)
	}
	if d.LastError != "" {
		text += ": " + d.LastError
	}
	return text
}

// elsewhere says of what was not found whose it would be, where no agent was named.
func elsewhere(err error, named, agent string) error {
	if named != "" || !isNotFound(err) {
		return err
	}
	return fmt.Errorf("%w; looked for with agent %s, --agent names another", err, agent)
}

// requestName takes "#12" for 12, as cards write it.
func requestName(text string) string { return strings.TrimPrefix(text, "#") }

func printRequest(w io.Writer, r approvals.Wire) {
	status := string(r.Status)
	if r.Status == approvals.Rejected {
		status = rejection(r)
	}
	fmt.Fprintf(w, "Request %d: %s\n", r.ShortID, status)
	line := func(label, text string) { fmt.Fprintf(w, "  %-10s %s\n", label, oneLine(text)) }
	line("tool", r.ResourceKey)
	line("requester", r.RequesterName)
	if r.ByKey != "" {
		line("asked by", "a program with key "+r.ByKey+", on behalf of the requester")
	}
	line("session", r.SessionID)
	line("asked", when(r.CreatedAt))
	if r.Status == approvals.Pending {
		line("open until", when(r.ExpiresAt))
	}
	if r.Quorum > 1 {
		line("needs", tally(r))
	}
	for _, v := range r.Votes {
		text := fmt.Sprintf("%s on %s at %s: %s", v.Name, v.Via, when(v.At), allows(v.Resolution, v.Extent, r.TTLMinutes))
		if !v.Counts {
			text += " (does not count any more)"
		}
		line("approval", text)
	}
	if r.RequireReason && r.Status == approvals.Pending {
		line("wants", "a reason (--reason)")
	}
	if r.EscalatedAt != nil {
		line("escalated", when(*r.EscalatedAt))
	}
	if r.UndeliveredAt != nil && r.Status == approvals.Pending {
		line("undelivered", "nobody could be reached since "+when(*r.UndeliveredAt))
	}
	if r.Asked > 1 {
		line("asked for", fmt.Sprintf("%d times; one answer, one execution", r.Asked))
	}
	if r.DuplicateOf != nil {
		line("same as", fmt.Sprintf("request %d, whose answer and execution it shares", r.DuplicateOfNumber))
	}
	if r.ResolvedAt != nil {
		line("answered", when(*r.ResolvedAt)+" by "+orDash(r.ResolvedName)+" on "+orDash(r.ResolvedVia))
	}
	if r.Resolution != nil {
		line("allows", resolutionText(r))
	}
	if r.Reason != nil {
		line("reason", *r.Reason)
	}
	if r.Changed != "" {
		line("asked anew", r.Changed)
	}
	if r.Stopped != nil && r.Status == approvals.Approved {
		line("stopped", *r.Stopped)
	}
	if r.Outcome != nil {
		line("outcome", string(*r.Outcome))
	}
	for _, d := range r.Deliveries {
		line("card", cardLine(d))
	}
	fmt.Fprintf(w, "  arguments\n  %s\n", indented(r.Args))
}
