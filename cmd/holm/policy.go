package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/policy"
	"holm/policy/rulestore"
)

func (c *cli) newPolicyCommand() *cobra.Command {
	return group("policy", "See and change policy rows, and ask what they decide",
		c.newPolicyListCommand(), c.newPolicySetCommand(), c.newPolicyDeleteCommand(),
		c.newExplainCommand(), c.newLintCommand())
}

func (c *cli) newPolicyListCommand() *cobra.Command {
	return &cobra.Command{
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
	}
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

func (c *cli) newPolicySetCommand() *cobra.Command {
	var to, conditions []string
	var scope, note string
	var required, force, replaceDefaults bool
	cmd := &cobra.Command{
		Use:   "set AGENT TYPE KEY EFFECT",
		Short: "Store a policy row",
		Long: "Store a row about a tool, mcp (a server), file or exec: allow, deny or require_approval. A row with the same\n" +
			"type, key, effect and scope is replaced; what it was is told. Default grants of Holm's own tools are kept\n" +
			"beside the row, whatever its effect. A row that would take a tool from everybody, or one of Holm's own from an\n" +
			"owner, is refused without --force, and so is an argument that no tool has. Users, circles, servers and tools\n" +
			"that are not there are told on standard error.",
		Example: "  holm policy set claude tool 'mcp__git__*' require_approval --to role:guest\n" +
			"  holm policy set claude mcp payments deny --force\n" +
			"  holm policy set claude file /srv/public allow --scope '{\"mode\":\"read\"}'\n" +
			"  holm policy set claude exec 'git log *' allow",
		Args: exactly("AGENT", "TYPE", "KEY", "EFFECT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := newPolicy(args, scope, note, to, conditions)
			if err != nil {
				return err
			}
			if err := requireArguments(row.Scope.Args, required); err != nil {
				return err
			}
			row.Force, row.KeepDefaults = force, !replaceDefaults
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			stored, err := holm.SetPolicy(cmd.Context(), args[0], row)
			if err != nil {
				return err
			}
			tellNotes(cmd, stored.Notes)
			return c.print(cmd, stored, func(w io.Writer) {
				printPolicies(w, append([]rulestore.Row{stored.Row}, stored.Kept...))
				printReplaced(w, stored)
			})
		},
	}
	cmd.Flags().StringArrayVar(&to, "to", nil, "who: any, user:U, role:R or circle:C; may be repeated; default any")
	cmd.Flags().StringArrayVar(&conditions, "args", nil, "ARG=PATTERN, or ARG=re:REGEX; several may follow")
	cmd.Flags().BoolVar(&required, "required", false, "calls have to carry the arguments of --args")
	cmd.Flags().StringVar(&scope, "scope", "", "the row's scope as JSON, beside --args")
	cmd.Flags().StringVar(&note, "note", "", "why the row is there, for people")
	cmd.Flags().BoolVar(&force, "force", false, "store the row although somebody is locked out by it, or no tool has an argument that it names")
	cmd.Flags().BoolVar(&replaceDefaults, "replace-defaults", false, "let the row replace the default grants of Holm's own tools")
	return cmd
}

// tellNotes says what the writer of a row may not expect.
func tellNotes(cmd *cobra.Command, notes []policy.Finding) {
	for _, note := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "holm: note: %s\n", oneLine(note.Message))
	}
}

// printReplaced says what a row was before, where that differs.
func printReplaced(w io.Writer, now rulestore.Written) {
	before := now.Replaced
	if before == nil || rowGrants(before.Grants) == rowGrants(now.Grants) && before.Note == now.Note {
		return
	}
	fmt.Fprintf(w, "Before, the row was for %s", oneLine(rowGrants(before.Grants)))
	if before.Note != "" && before.Note != now.Note {
		fmt.Fprintf(w, " (%s)", oneLine(before.Note))
	}
	fmt.Fprintln(w, ".")
}

func newPolicy(args []string, scope, note string, to, conditions []string) (row client.Policy, err error) {
	row = client.Policy{ResourceType: args[1], ResourceKey: args[2], Effect: policy.Effect(args[3]), Note: note}
	if !row.Effect.Valid() {
		return row, usagef("effect %q: want allow, deny or require_approval", args[3])
	}
	if scope != "" {
		if row.Scope, err = policy.ParseScope(row.ResourceType, json.RawMessage(scope)); err != nil {
			return row, usagef("--scope: %v", err)
		}
	}
	list, err := parseConditions(conditions)
	if err != nil {
		return row, err
	}
	row.Scope.Args = append(row.Scope.Args, list...)
	row.Grants, err = parseGrants(to)
	return row, err
}

func (c *cli) newPolicyDeleteCommand() *cobra.Command {
	var effect string
	var force bool
	cmd := &cobra.Command{
		Use:   "delete AGENT TYPE KEY",
		Short: "Delete the policy rows of one key",
		Long: "Delete the rows of one key, of all effects or of one. A deletion that would take a tool from everybody, or one\n" +
			"of Holm's own from an owner, is refused without --force. With --effect allow it is meant that the tools of\n" +
			"servers go.",
		Example: "  holm policy delete claude tool 'mcp__git__*' --effect require_approval",
		Args:    exactly("AGENT", "TYPE", "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if effect != "" && !policy.Effect(effect).Valid() {
				return usagef("--effect %q: want allow, deny or require_approval", effect)
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := holm.DeletePolicies(cmd.Context(), args[0], args[1], args[2], effect, force); err != nil {
				return err
			}
			return c.done(cmd.OutOrStdout(), "Deleted for agent %s: %s %s", args[0], args[1], oneLine(args[2]))
		},
	}
	cmd.Flags().StringVar(&effect, "effect", "", "delete rows of this effect alone")
	cmd.Flags().BoolVar(&force, "force", false, "delete the rows although somebody is locked out by it")
	return cmd
}
