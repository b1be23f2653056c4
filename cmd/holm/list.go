package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/httpapi"
	"holm/internal/identity"
)

func (c *cli) newListCommand() *cobra.Command {
	servers := &cobra.Command{
		Use: "servers", Aliases: []string{"server"}, Short: "List upstream MCP servers", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			list, err := holm.Servers(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(cmd, list, func(w io.Writer) { printServers(w, list) })
		},
	}
	agents := &cobra.Command{
		Use: "agents", Aliases: []string{"agent"}, Short: "List agents", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			list, err := holm.Agents(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(cmd, list, func(w io.Writer) { printAgents(w, list) })
		},
	}
	return group("list", "List servers or agents", servers, agents)
}

// agentList is a command that lists what an agent has.
func agentList[T any](c *cli, short string, read func(*client.Client, context.Context, string) ([]T, error), show func(w io.Writer, agent string, list []T)) *cobra.Command {
	return &cobra.Command{
		Use: "list AGENT", Short: short, Args: exactly("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			list, err := read(holm, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, list, func(w io.Writer) { show(w, args[0], list) })
		},
	}
}

func printServers(w io.Writer, list []httpapi.Server) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No servers yet. Register one: holm add server NAME --command \"…\"")
		return
	}
	table(w, "NAME STATE TOOLS REACHED", func(row func(...any)) {
		for _, s := range list {
			state, tools := "-", "-"
			if s.Status != nil {
				state, tools = s.Status.State, fmt.Sprint(len(s.Status.Tools))
			}
			row(s.Name, state, tools, reached(s))
		}
	})
}

func reached(s httpapi.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(s.Command, " ")
}

func printAgents(w io.Writer, list []identity.Agent) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No agents yet. Register one: holm add agent NAME")
		return
	}
	table(w, "NAME DEFAULT CREATED", func(row func(...any)) {
		for _, a := range list {
			row(a.ID, a.DefaultDecision, when(a.CreatedAt))
		}
	})
}
