package main

import "github.com/spf13/cobra"

func (c *cli) newRemoveCommand() *cobra.Command {
	var keep bool
	server := &cobra.Command{
		Use: "server NAME", Short: "Forget an upstream MCP server, and what was granted about it", Args: exactly("NAME"),
		Long: "Forget a server. What was approved about it ends, its open requests are cancelled, and rows that allow\n" +
			"it by name are deleted, with every agent; rows that deny or ask stay, and are named. --keep-grants leaves\n" +
			"the rows that allow: another server that gets this name is then open to the same agents at once.",
		Example: "  holm remove server shop\n  holm remove server shop --keep-grants",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			ended, err := holm.RemoveServer(cmd.Context(), args[0], keep)
			if err != nil {
				return err
			}
			return c.doneAnd(cmd, ended, "holm approvals revoke", "Server %s is removed.", args[0])
		},
	}
	server.Flags().BoolVar(&keep, "keep-grants", false, "leave the rows that allow it")
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
