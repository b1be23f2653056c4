package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/servers"
	"holm/policy"
	"holm/policy/rulestore"
)

func (c *cli) newRevokeCommand() *cobra.Command {
	var tool string
	cmd := &cobra.Command{
		Use:   "revoke AGENT SERVER",
		Short: "Take a grant back, or revoke a key",
		Long: "Take back what holm grant gave for exactly this pattern of tools, with or without --ask, and what an\n" +
			"owner always allows. Rows that deny stay. Other rows may still cover the tools: they are named.",
		Example: "  holm revoke claude git --tool push\n  holm revoke key abcdefgh",
		Args:    exactly("AGENT", "SERVER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.revoke(cmd, args[0], args[1], tool)
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "*", "the pattern of the grant")
	cmd.AddCommand(c.newRevokeKeyCommand())
	return cmd
}

func (c *cli) revoke(cmd *cobra.Command, agent, server, tool string) error {
	holm, _, err := c.connect()
	if err != nil {
		return err
	}
	key := servers.ResourceKey(server, tool)
	if err := removeGrants(cmd.Context(), holm, agent, key); err != nil {
		return err
	}
	if err := c.done(cmd.OutOrStdout(), "Revoked for agent %s: %s", agent, oneLine(key)); err != nil {
		return err
	}
	rows, err := holm.Policies(cmd.Context(), agent)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if stillAllows(row, server, key) {
			fmt.Fprintf(cmd.ErrOrStderr(), "holm: note: the row %s %s still allows it\n", row.ResourceType, oneLine(row.ResourceKey))
		}
	}
	return nil
}

// removeGrants removes what allows first, so that nothing is open in between. That
// the tools go is what is wanted.
func removeGrants(ctx context.Context, holm *client.Client, agent, key string) error {
	allow := holm.DeletePolicies(ctx, agent, policy.TypeTool, key, string(policy.Allow), true)
	if allow != nil && !isNotFound(allow) {
		return allow
	}
	ask := holm.DeletePolicies(ctx, agent, policy.TypeTool, key, string(policy.RequireApproval), true)
	if ask != nil && (allow != nil || !isNotFound(ask)) {
		return ask
	}
	return nil
}

func isNotFound(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusNotFound
}

// stillAllows tells whether a row that is left allows tools of key.
func stillAllows(row rulestore.Row, server, key string) bool {
	if row.Effect != policy.Allow {
		return false
	}
	pattern := key
	if row.ResourceType == policy.TypeMCP {
		pattern = server
	} else if row.ResourceType != policy.TypeTool {
		return false
	}
	return covers(row.ResourceKey, pattern)
}

// covers tells whether the pattern wide, in which * stands for any text,
// matches text.
func covers(wide, text string) bool {
	for len(wide) > 0 {
		if wide[0] == '*' {
			for i := 0; i <= len(text); i++ {
				if covers(wide[1:], text[i:]) {
					return true
				}
			}
			return false
		}
		if text == "" || wide[0] != text[0] {
			return false
		}
		wide, text = wide[1:], text[1:]
	}
	return text == ""
}
