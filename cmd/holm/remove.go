package main

import "github.com/spf13/cobra"

func (c *cli) newRemoveCommand() *cobra.Command {
	server := &cobra.Command{
		Use: "server NAME", Short: "Forget an upstream MCP server", Args: exactly("NAME"),
		Long: "Forget a server. Policy rows that speak of it stay, and hold again if it comes back.",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := holm.RemoveServer(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.done(cmd.OutOrStdout(), "Server %s is removed.", args[0])
		},
	}
	agent := &cobra.Command{
		Use: "agent NAME", Short: "Remove an agent with its keys, rows, sessions and requests", Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := holm.RemoveAgent(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.done(cmd.OutOrStdout(), "Agent %s is removed; the audit log keeps what happened.", args[0])
		},
	}
	return group("remove", "Remove a server or an agent", server, agent)
}
