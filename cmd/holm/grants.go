package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/policy"
)

func (c *cli) newGrantsCommand(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "grants [AGENT]", Short: "List what approvals still let through", Args: atMost("AGENT"),
		Long: "List what approved requests have left: single uses, windows of time and what is always allowed. Each has\n" +
			"the number of its request.",
		Example: "  holm approvals grants claude",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				*agent = args[0]
			}
			holm, name, err := c.connectFor(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			list, err := holm.Grants(cmd.Context(), name)
			if err != nil {
				return err
			}
			return c.print(cmd, list, func(w io.Writer) { printGrants(w, name, list) })
		},
	}
}

func printGrants(w io.Writer, agent string, list []approvals.Grant) {
	if len(list) == 0 {
		fmt.Fprintf(w, "No approval of agent %s lets anything through.\n", oneLine(agent))
		return
	}
	table(w, "NO TOOL REQUESTER ARGUMENTS USED LEFT UNTIL BY", func(row func(...any)) {
		for _, g := range list {
			arguments, left, until := "any", "-", "for good"
			if g.Binding == policy.BindArguments {
				arguments = "these"
			}
			if g.UsesLeft != nil {
				left = strconv.Itoa(*g.UsesLeft)
			}
			if g.ValidUntil != nil {
				until = when(*g.ValidUntil)
			}
			row(g.ShortID, g.ResourceKey, g.RequesterName, arguments, g.Uses, left, until, g.GrantedBy)
		}
	})
}

func (c *cli) newRevokeGrantCommand(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke [AGENT] NUMBER", Short: "Take back what an approval left", Args: numberOfAgent,
		Long: "Take back what an approved request has left; NUMBER is that of the request. It holds at once; what runs\n" +
			"already runs on. Rows of policy are taken back with: holm revoke, holm policy delete.",
		Example: "  holm approvals revoke claude 12",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				*agent = args[0]
			}
			holm, name, err := c.connectFor(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			g, err := holm.RevokeGrant(cmd.Context(), name, requestName(args[len(args)-1]))
			if err != nil {
				return elsewhere(err, *agent, name)
			}
			return c.print(cmd, g, func(w io.Writer) {
				fmt.Fprintf(w, "Revoked: %s for %s, approved by request %d and used %s.\n",
					oneLine(g.ResourceKey), oneLine(g.RequesterName), g.ShortID, times(g.Uses))
			})
		},
	}
}

// numberOfAgent wants a number, after an agent or not.
func numberOfAgent(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("NUMBER is missing; usage: %s", cmd.UseLine())
	}
	return atMost("AGENT", "NUMBER")(cmd, args)
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
