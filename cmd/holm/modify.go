package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"holm/internal/client"
)

func (c *cli) newModifyCommand() *cobra.Command {
	return group("modify", "Change a server or an agent", c.newModifyServerCommand(), c.newModifyAgentCommand())
}

func (c *cli) newModifyAgentCommand() *cobra.Command {
	var fallback, autonomy, access string
	var rotate bool
	var ask []string
	cmd := &cobra.Command{
		Use:   "agent NAME",
		Short: "Change an agent's default decision and who may talk to its bot",
		Long: "Change an agent's default decision: deny, as new agents have, require_approval or allow. --autonomy and\n" +
			"--require-approval-for are there for older set-ups and act like rows; write rows instead: holm policy set.\n" +
			"--access says what the bot does with strangers: a public agent takes everybody who writes as a guest, a\n" +
			"protected one those who send the access token, which is printed once, a private one nobody uninvited.",
		Example: "  holm modify agent claude --default require_approval\n" +
			"  holm modify agent claude --access protected\n" +
			"  holm modify agent claude --rotate-access-token",
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change client.AgentChange
			if cmd.Flags().Changed("default") {
				change.DefaultDecision = &fallback
			}
			if cmd.Flags().Changed("autonomy") {
				change.AutonomyLevel = &autonomy
			}
			if cmd.Flags().Changed("require-approval-for") {
				change.RequireApprovalFor = &ask
			}
			change.Access, change.RotateAccessToken = access, rotate
			if cmd.Flags().NFlag() == 0 || cmd.Flags().Changed("access") && access == "" {
				return usagef("say what to change; see holm modify agent --help")
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			a, err := holm.ModifyAgent(cmd.Context(), args[0], change)
			if err != nil {
				return err
			}
			return c.print(cmd, a, func(w io.Writer) {
				fmt.Fprintf(w, "Agent %s: %s unless a row says otherwise; autonomy %s; %s.\n", a.ID, a.DefaultDecision, a.AutonomyLevel, a.Access)
				if a.AccessToken != "" {
					fmt.Fprintf(w, "Who sends the bot this becomes a guest; it is not shown again: start %s\n", a.AccessToken)
				}
			})
		},
	}
	cmd.Flags().StringVar(&fallback, "default", "", "allow, deny or require_approval")
	cmd.Flags().StringVar(&access, "access", "", "strangers: public, protected or private")
	cmd.Flags().BoolVar(&rotate, "rotate-access-token", false, "make a new access token; the one of before is worth nothing then")
	cmd.Flags().StringVar(&autonomy, "autonomy", "", "deprecated: readonly, supervised or full")
	cmd.Flags().StringArrayVar(&ask, "require-approval-for", nil, "deprecated: tool that supervised has approved; may be repeated")
	return cmd
}

func (c *cli) newModifyServerCommand() *cobra.Command {
	var command, url string
	var env, header, maps []string
	cmd := &cobra.Command{
		Use:   "server NAME",
		Short: "Change a registered MCP server",
		Long: "Change how a server is reached, its variables or headers, or which arguments of its tools name files\n" +
			"and commands. A flag replaces all that its kind had; what no flag names stays.",
		Example: "  holm modify server fs --map read_file=file:read:path --map write_file=file:write:path\n" +
			"  holm modify server tickets --header TICKETS_AUTH=…",
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := serverChange(cmd, command, url, env, header, maps)
			if err != nil {
				return err
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			before, err := holm.Server(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			modified, err := holm.ModifyServer(cmd.Context(), args[0], change)
			if err != nil {
				return err
			}
			for _, m := range before.Maps {
				if !slices.Contains(modified.Maps, m) {
					fmt.Fprintf(cmd.ErrOrStderr(), "holm: note: --map %s is gone: no %s row judges that argument any more\n", oneLine(m.String()), m.Type)
				}
			}
			return c.print(cmd, modified, func(w io.Writer) { fmt.Fprintf(w, "Server %s is changed.\n", modified.Name) })
		},
	}
	cmd.Flags().StringVar(&command, "command", "", "program and arguments, split as a shell would")
	cmd.Flags().StringVar(&url, "url", "", "address of a Streamable HTTP server")
	cmd.Flags().StringArrayVar(&env, "env", nil, "all variables of the program: NAME=VALUE or NAME; may be repeated")
	cmd.Flags().StringArrayVar(&header, "header", nil, "all headers for the url: NAME=VALUE, NAME: VALUE or NAME; may be repeated")
	cmd.Flags().StringArrayVar(&maps, "map", nil, mapUsage)
	return cmd
}

func serverChange(cmd *cobra.Command, command, url string, env, header, maps []string) (change client.ServerChange, err error) {
	change.URL = url
	if command != "" {
		if change.Command, err = splitCommand(command); err != nil {
			return change, err
		}
	}
	if cmd.Flags().Changed("env") {
		values, err := pairs("--env", "=", env)
		if err != nil {
			return change, err
		}
		change.Env = &values
	}
	if cmd.Flags().Changed("header") {
		values, err := pairs("--header", "=:", header)
		if err != nil {
			return change, err
		}
		change.Headers = &values
	}
	if cmd.Flags().Changed("map") {
		list, err := serverMaps(maps)
		if err != nil {
			return change, err
		}
		change.Maps = &list
	}
	if cmd.Flags().NFlag() == 0 {
		return change, usagef("say what to change; see holm modify server --help")
	}
	return change, nil
}
