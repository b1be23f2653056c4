package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/servers"
)

func (c *cli) newAddCommand() *cobra.Command {
	return group("add", "Register a server or an agent, or make a key",
		c.newAddServerCommand(), c.newAddAgentCommand(), c.newAddKeyCommand())
}

func (c *cli) newAddServerCommand() *cobra.Command {
	var command, url string
	var env, header, maps []string
	cmd := &cobra.Command{
		Use:   "server NAME (--command \"…\" | --url URL)",
		Short: "Register an upstream MCP server",
		Long: "Register an MCP server that agents reach through Holm: a program that Holm starts (stdio), or an\n" +
			"address (Streamable HTTP). Nobody may use it before holm grant, unless a rule holds for it already: such\n" +
			"rules are named.\n\n" +
			"Values of --env and --header are kept sealed and never shown. A NAME without a value takes it from\n" +
			"the environment of this command, which keeps it out of the shell's history.",
		Example: "  holm add server git --command \"mcp-server-git --repository /srv/repo\"\n" +
			"  holm add server tickets --url https://tickets.example/mcp --header TICKETS_AUTH=…\n" +
			"  GITHUB_TOKEN=… holm add server github --command github-mcp-server --env GITHUB_TOKEN",
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := newServer(args[0], command, url, env, header)
			if err != nil {
				return err
			}
			if in.Maps, err = serverMaps(maps); err != nil {
				return err
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			added, err := holm.AddServer(cmd.Context(), in)
			if err != nil {
				return err
			}
			return c.print(cmd, added, func(w io.Writer) {
				fmt.Fprintf(w, "Server %s is registered (%s). Is it up, and with which tools: holm show server %s\nLet an agent use it: holm grant AGENT %s [--ask]\n",
					added.Name, added.Transport, added.Name, added.Name)
				for _, row := range added.Rules {
					fmt.Fprintf(w, "A rule holds for it already: %s\n", oneLine(row.Words()))
				}
			})
		},
	}
	cmd.Flags().StringVar(&command, "command", "", "program and arguments, split as a shell would")
	cmd.Flags().StringVar(&url, "url", "", "address of a Streamable HTTP server")
	cmd.Flags().StringArrayVar(&env, "env", nil, "variable of the program: NAME=VALUE or NAME; may be repeated")
	cmd.Flags().StringArrayVar(&header, "header", nil, "header for the url: NAME=VALUE, NAME: VALUE or NAME; may be repeated")
	cmd.Flags().StringArrayVar(&maps, "map", nil, mapUsage)
	return cmd
}

const mapUsage = "argument that names a file or a command: TOOL=file:read:ARG, TOOL=file:write:ARG, TOOL=file:search:ARG, TOOL=exec:ARG[:CWD]; may be repeated"

func serverMaps(list []string) ([]servers.Map, error) {
	maps := []servers.Map{}
	for _, text := range list {
		m, err := servers.ParseMap(text)
		if err != nil {
			return nil, usagef("--map: %v", err)
		}
		maps = append(maps, m)
	}
	return maps, nil
}

func newServer(name, command, url string, env, header []string) (s client.Server, err error) {
	s = client.Server{Name: name, URL: url}
	if (command == "") == (url == "") {
		return s, usagef("give either --command or --url")
	}
	if s.Command, err = splitCommand(command); err != nil {
		return s, err
	}
	if s.Env, err = pairs("--env", "=", env); err != nil {
		return s, err
	}
	s.Headers, err = pairs("--header", "=:", header)
	return s, err
}

// splitCommand splits as a shell would, without being one.
func splitCommand(text string) ([]string, error) {
	words, err := shellquote.Split(text)
	if err != nil {
		return nil, usagef("--command: %v", err)
	}
	for _, word := range words {
		if slices.Contains([]string{"|", "||", "&", "&&", ";", "<", ">", ">>"}, word) {
			return nil, usagef("--command: no shell runs it, so %s means nothing; use sh -c '…'", word)
		}
	}
	return words, nil
}

// pairs reads NAME=VALUE; a NAME alone takes the value of this variable.
func pairs(flag, dividers string, list []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range list {
		at := strings.IndexAny(text, dividers)
		if at == 0 {
			return nil, usagef("%s: the name is missing", flag)
		}
		if at > 0 {
			values[text[:at]] = strings.TrimLeft(text[at+1:], " ")
			continue
		}
		value, ok := os.LookupEnv(text)
		if !ok {
			return nil, usagef("%s: want NAME=VALUE, or a variable %s in the environment", flag, text)
		}
		values[text] = value
	}
	return values, nil
}

func (c *cli) newAddAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agent NAME",
		Short: "Register an agent and show its access key, once",
		Long: "Register an agent. Its key is shown now and never again (holm rotate agent makes another).\n" +
			"It may use nothing before: holm grant.",
		Example: "  holm add agent claude\n  holm add agent claude --json | jq -r .key",
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, s, err := c.connect()
			if err != nil {
				return err
			}
			added, err := holm.AddAgent(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, added, func(w io.Writer) {
				fmt.Fprintf(w, "Agent %s is registered.\n", added.Agent.ID)
				printKey(w, added.Key, address(holm, s.PublicURL))
				fmt.Fprintf(w, "\nLet it use a server: holm grant %s SERVER [--ask]\n", added.Agent.ID)
			})
		},
	}
}

// address is where agents connect: the public address when one is set.
func address(holm *client.Client, public string) string {
	if public != "" {
		return public
	}
	return holm.Base()
}

func printKey(w io.Writer, key, base string) {
	fmt.Fprintf(w, `
Its key, shown only now:
  %[1]s

Connect an MCP client (Streamable HTTP):
  address  %[2]s/mcp
  header   Authorization: Bearer %[1]s
Claude Code:
  claude mcp add --transport http holm %[2]s/mcp --header "Authorization: Bearer %[1]s"
`, key, base)
}
