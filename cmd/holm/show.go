package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/httpapi"
	"holm/internal/identity"
	"holm/policy/rulestore"
)

func (c *cli) newShowCommand() *cobra.Command {
	server := &cobra.Command{
		Use: "server NAME", Short: "Show a server with its tools and how it does", Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			s, err := holm.Server(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, s, func(w io.Writer) { printServer(w, s) })
		},
	}
	agent := &cobra.Command{
		Use: "agent NAME", Short: "Show an agent with its keys, people and policy rows", Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := c.describeAgent(cmd, args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, a, func(w io.Writer) { printAgent(w, a) })
		},
	}
	return group("show", "Show a server or an agent", server, agent)
}

func printServer(w io.Writer, s httpapi.Server) {
	fmt.Fprintf(w, "Server %s (%s)\n  %s\n", s.Name, s.Transport, oneLine(reached(s)))
	if len(s.Env) > 0 {
		fmt.Fprintf(w, "  variables  %s\n", strings.Join(s.Env, ", "))
	}
	if len(s.Headers) > 0 {
		fmt.Fprintf(w, "  headers    %s\n", strings.Join(s.Headers, ", "))
	}
	if s.Status == nil {
		return
	}
	fmt.Fprintf(w, "  state      %s\n", s.Status.State)
	if s.Status.Error != "" {
		fmt.Fprintf(w, "  error      %s\n", oneLine(s.Status.Error))
	}
	for _, tool := range s.Status.Tools {
		fmt.Fprintf(w, "  tool       %s\n", oneLine(tool))
	}
	for _, line := range s.Status.Stderr {
		fmt.Fprintf(w, "  stderr     %s\n", oneLine(line))
	}
}

// agentDetails is an agent with all that is its own.
type agentDetails struct {
	identity.Agent
	Keys     []identity.Key    `json:"keys"`
	Members  []identity.Member `json:"members"`
	Policies []rulestore.Row   `json:"policies"`
}

func (c *cli) describeAgent(cmd *cobra.Command, name string) (a agentDetails, err error) {
	holm, _, err := c.connect()
	if err != nil {
		return a, err
	}
	ctx := cmd.Context()
	if a.Agent, err = holm.Agent(ctx, name); err != nil {
		return a, err
	}
	if a.Keys, err = holm.Keys(ctx, name); err != nil {
		return a, err
	}
	if a.Members, err = holm.Members(ctx, name); err != nil {
		return a, err
	}
	a.Policies, err = holm.Policies(ctx, name)
	return a, err
}

func printAgent(w io.Writer, a agentDetails) {
	fmt.Fprintf(w, "Agent %s: %s unless a row says otherwise; %s\n", a.ID, a.DefaultDecision, a.Access)
	for _, k := range a.Keys {
		fmt.Fprintf(w, "  key     %s  made %s%s\n", k.Prefix, when(k.CreatedAt), keyState(k))
	}
	for _, m := range a.Members {
		fmt.Fprintf(w, "  %-7s %s (%s)\n", m.Role, oneLine(m.Name), oneLine(strings.Join(m.Identities, ", ")))
	}
	if len(a.Policies) > 0 {
		fmt.Fprintln(w)
		printPolicies(w, a.Policies)
	}
}

func keyState(k identity.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "  revoked " + when(*k.RevokedAt)
	case k.ExpiresAt != nil:
		return "  until " + when(*k.ExpiresAt)
	}
	return ""
}
