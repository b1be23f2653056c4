package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/internal/client"
	"holm/internal/httpapi"
	"holm/internal/identity"
)

// completionPatience bounds what a shell waits for at a press of Tab.
const completionPatience = 2 * time.Second

// words gives what may stand in a place of a command line.
type words func(ctx context.Context, c *cli, cmd *cobra.Command, args []string) []string

// places are the names that commands give to their arguments, and what is known of
// them without typing.
var places = map[string]words{
	"NUMBER": requestNumbers,
	"AGENT":  agentNames, "SERVER": serverNames,
	"ROLE": fixedWords("owner", "user", "guest"), "TYPE": fixedWords("tool", "mcp", "file", "exec"), "EFFECT": fixedWords("allow", "deny", "require_approval"),
}

// complete lets shells complete the arguments of every command in a tree, and the
// flags that name agents and servers.
func (c *cli) complete(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && cmd.Runnable() {
		c.completeArgs(cmd)
	}
	for flag, known := range map[string]words{"agent": agentNames, "server": serverNames} {
		if cmd.LocalFlags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, c.completes(known)) // a second one would be an error, and changes nothing
		}
	}
	for _, sub := range cmd.Commands() {
		c.complete(sub)
	}
}

// completeArgs reads the names of a command's arguments from its Use.
func (c *cli) completeArgs(cmd *cobra.Command) {
	var list []words
	for _, word := range strings.Fields(cmd.Use)[1:] {
		name := strings.Trim(word, "[]…")
		if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "(") {
			break
		}
		if name == "NAME" && cmd.HasParent() && cmd.Parent().Name() != "add" {
			name = strings.ToUpper(cmd.Name())
		}
		known := places[name]
		if word == "[AGENT]" && strings.Contains(cmd.Use, "NUMBER") {
			known = agentsAndNumbers
		}
		list = append(list, known)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(list) || list[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completes(list[len(args)])(cmd, args, typed)
	}
}

func (c *cli) completes(known words) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		list := slices.DeleteFunc(known(ctx, c, cmd, args), func(word string) bool { return !strings.HasPrefix(word, typed) })
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func fixedWords(list ...string) words {
	return func(context.Context, *cli, *cobra.Command, []string) []string { return slices.Clone(list) }
}

// fromServer gives what a server knows; nothing where there is none, since a shell
// has no place for an error.
func fromServer[T any](c *cli, list func(*client.Client) ([]T, error), name func(T) string) (names []string) {
	holm, _, err := c.connect()
	if err != nil {
		return nil
	}
	all, err := list(holm)
	if err != nil {
		return nil
	}
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

func agentNames(ctx context.Context, c *cli, _ *cobra.Command, _ []string) []string {
	return fromServer(c, func(holm *client.Client) ([]identity.Agent, error) { return holm.Agents(ctx) }, func(a identity.Agent) string { return a.ID })
}

func serverNames(ctx context.Context, c *cli, _ *cobra.Command, _ []string) []string {
	return fromServer(c, func(holm *client.Client) ([]httpapi.Server, error) { return holm.Servers(ctx) }, func(s httpapi.Server) string { return s.Name })
}

// requestNumbers are those that the command can do something to: what waits, what
// is granted, or the newest.
func requestNumbers(ctx context.Context, c *cli, cmd *cobra.Command, args []string) []string {
	agent, _ := cmd.Flags().GetString("agent") // not every command has it
	if len(args) > 0 {
		agent = args[0]
	}
	holm, agent, err := c.connectFor(ctx, agent)
	if err != nil {
		return nil
	}
	if cmd.Name() == "revoke" {
		return fromServer(c, func(*client.Client) ([]approvals.Grant, error) { return holm.Grants(ctx, agent) },
			func(g approvals.Grant) string { return numbered(g.ShortID, g.ResourceKey) })
	}
	status := "pending"
	if cmd.Name() == "show" {
		status = ""
	}
	return fromServer(c, func(*client.Client) ([]approvals.Wire, error) { return holm.Approvals(ctx, agent, status, false, 50) },
		func(r approvals.Wire) string { return numbered(r.ShortID, r.ResourceKey) })
}

// numbered is a number with what shells show beside it.
func numbered(n int, about string) string { return fmt.Sprintf("%d\t%s", n, oneLine(about)) }

func agentsAndNumbers(ctx context.Context, c *cli, cmd *cobra.Command, args []string) []string {
	return append(agentNames(ctx, c, cmd, args), requestNumbers(ctx, c, cmd, args)...)
}
