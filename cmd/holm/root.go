package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/settings"
)

// cli is what the commands share.
type cli struct {
	flags settings.Flags
	// json asks for JSON on standard output instead of words.
	json bool
}

// newRoot makes the whole tree of commands.
func newRoot() *cobra.Command {
	c := &cli{}
	root := &cobra.Command{
		Use:   "holm",
		Short: "An enforcement gateway and approval bot for AI agents",
		Long: "Holm stands between AI agents and their tools. Policy allows or denies each call, or has an owner\n" +
			"approve it first: on Telegram, Slack, Discord or here.",
		Example: "  holm demo                  # see it work, within a minute\n" +
			"  holm serve                 # run it\n" +
			"  holm add server git --command \"mcp-server-git --repository /srv/repo\"\n" +
			"  holm add agent claude\n" +
			"  holm grant claude git --ask",
		SilenceUsage: true, SilenceErrors: true,
		Args: noSuchCommand, RunE: showHelp,
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON")
	c.flags.AddFile(root.PersistentFlags())
	root.AddCommand(
		newServeCommand(&c.flags), newDemoCommand(&c.flags), newDemoUpstreamCommand(), newMigrateCommand(&c.flags),
		c.newAddCommand(), c.newModifyCommand(), c.newRemoveCommand(), c.newRotateCommand(), c.newListCommand(), c.newShowCommand(),
		c.newGrantCommand(), c.newRevokeCommand(), c.newPolicyCommand(), c.newExplainCommand(), c.newLintCommand(),
		c.newApprovalsCommand(), c.newInviteCommand(), c.newUsersCommand(), c.newCirclesCommand(), c.newChannelsCommand(), c.newWebhooksCommand(), c.newEventsCommand(),
		c.newLogCommand(), c.newAuditCommand(), c.newGuardCommand(), c.newHookCommand(),
		c.newImportCommand(), c.newVersionCommand(),
	)
	giveExamples(root)
	c.complete(root)
	return root
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noSuchCommand, RunE: showHelp}
	cmd.AddCommand(commands...)
	return cmd
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noSuchCommand refuses words after a command that only holds others.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q in %q", args[0], cmd.CommandPath())
	if near := suggestions(cmd, args[0]); near != "" {
		return usagef("%s; did you mean %s?", text, near)
	}
	return usagef("%s; see %s --help", text, cmd.CommandPath())
}

func suggestions(cmd *cobra.Command, word string) string {
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	return strings.Join(cmd.SuggestionsFor(word), " or ")
}

// exactly wants the named arguments, no more and no fewer.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s is missing; usage: %s", names[len(args)], cmd.UseLine())
		}
		if len(args) > len(names) {
			return usagef("%q is too much; usage: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// atMost wants no more than the named arguments.
func atMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return usagef("%q is too much; usage: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// connect gives a client of the server that the settings name, or of the one
// that runs on the data folder.
func (c *cli) connect() (*client.Client, settings.Settings, error) {
	s, err := settings.Load(c.flags)
	if err != nil {
		return nil, s, err
	}
	if s.URL != "" {
		if s.AdminToken == "" {
			return nil, s, &settings.Error{Setting: "HOLM_ADMIN_TOKEN", Message: "is not set; HOLM_URL needs it beside it"}
		}
		return client.New(s.URL, s.AdminToken, version), s, nil
	}
	local, ok, err := settings.FindLocalServer(s.DataDir)
	if err != nil {
		return nil, s, err
	}
	token, err := s.ReadAdminToken()
	if err != nil {
		return nil, s, &settings.Error{Setting: "HOLM_ADMIN_TOKEN", Message: err.Error()}
	}
	if !ok || token == "" {
		return nil, s, &notRunningError{dataDir: s.DataDir}
	}
	return client.New(local.URL, token, version), s, nil
}

// print shows value as JSON, or in words.
func (c *cli) print(cmd *cobra.Command, value any, words func(io.Writer)) error {
	if c.json {
		return printJSON(cmd.OutOrStdout(), value)
	}
	words(cmd.OutOrStdout())
	return nil
}
