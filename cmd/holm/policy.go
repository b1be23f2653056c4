package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holm/policy"
	"holm/policy/rulestore"
)

func (c *cli) newPolicyCommand() *cobra.Command {
	return group("policy", "See policy rows", &cobra.Command{
		Use: "list AGENT", Short: "List the policy rows of an agent",
		Example: "  holm policy list claude", Args: exactly("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			rows, err := holm.Policies(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, rows, func(w io.Writer) {
				if len(rows) == 0 {
					fmt.Fprintf(w, "No rows. Let the agent use a server: holm grant %s SERVER\n", args[0])
					return
				}
				printPolicies(w, rows)
			})
		},
	})
}

func printPolicies(w io.Writer, rows []rulestore.Row) {
	table(w, "EFFECT TYPE KEY FOR SCOPE", func(row func(...any)) {
		for _, r := range rows {
			row(r.Effect, r.ResourceType, r.ResourceKey, rowGrants(r.Grants), rowScope(r.Scope))
		}
	})
}

func rowGrants(raw json.RawMessage) string {
	grants, err := policy.ParseGrants(raw)
	if err != nil {
		return "unreadable"
	}
	return grantsText(grants)
}

func rowScope(raw json.RawMessage) string {
	if string(raw) == "{}" {
		return "-"
	}
	return string(raw)
}
