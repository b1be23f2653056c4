package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/policy"
)

func (c *cli) newExplainCommand() *cobra.Command {
	var as, args, kind, scope, tool string
	cmd := &cobra.Command{
		Use:   "explain AGENT KEY",
		Short: "Say what policy decides about a call, and why",
		Long: "Say what policy decides about a call of a tool, or about a file or a command, and which rows decided or came\n" +
			"close. Nothing is executed, asked or recorded. Without --as it is the agent's own key that calls.",
		Example: "  holm explain claude mcp__git__push --args '{\"branch\":\"main\"}'\n" +
			"  holm explain claude mcp__git__push --as role:guest\n" +
			"  holm explain claude /srv/data/a.txt --type file --scope '{\"mode\":\"read\"}'",
		Args: exactly("AGENT", "KEY"),
		RunE: func(cmd *cobra.Command, words []string) error {
			for flag, text := range map[string]string{"--args": args, "--scope": scope} {
				if text != "" && !json.Valid([]byte(text)) {
					return usagef("%s: %q is no JSON", flag, text)
				}
			}
			check := client.Check{Resource: client.Resource{Type: kind, Key: words[1], Scope: raw(scope)}, Tool: tool, Args: raw(args)}
			if err := check.Speak(as); err != nil {
				return usagef("--as: %v", err)
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			e, err := holm.Explain(cmd.Context(), words[0], check)
			if err != nil {
				return err
			}
			return c.print(cmd, e, func(w io.Writer) { printExplanation(w, e) })
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "who calls: user:U or role:R")
	cmd.Flags().StringVar(&args, "args", "", "the arguments, as JSON")
	cmd.Flags().StringVar(&kind, "type", "tool", "tool, file or exec")
	cmd.Flags().StringVar(&scope, "scope", "", "of a file or command, as JSON: sandbox, mode, cwd")
	cmd.Flags().StringVar(&tool, "tool", "", "the tool that reaches the file or command; default Holm's own")
	return cmd
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func printExplanation(w io.Writer, e policy.Explanation) {
	fmt.Fprintf(w, "%s (step %s, layer %s)\n", e.Decision, e.Step, e.Layer)
	if e.Problem != "" {
		fmt.Fprintf(w, "  %s\n", oneLine(e.String()))
	}
	printReasons(w, "decided by", e.Reasons)
	printReasons(w, "came close", e.Near[:min(len(e.Near), mostNear)])
	if more := len(e.Near) - mostNear; more > 0 {
		fmt.Fprintf(w, "  %d more came close: --json\n", more)
	}
}

// mostNear is how many rows that came close a person reads.
const mostNear = 5

func printReasons(w io.Writer, what string, reasons []policy.Reason) {
	for _, r := range reasons {
		fmt.Fprintf(w, "  %s: %s %s %s: %s\n", what, r.Effect, r.ResourceType, oneLine(r.ResourceKey), oneLine(r.Why))
	}
}

func (c *cli) newLintCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lint AGENT", Short: "Find policy rows that do not do what they seem to", Args: exactly("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			findings, err := holm.Lint(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, findings, func(w io.Writer) {
				if len(findings) == 0 {
					fmt.Fprintln(w, "Nothing to say about the rows.")
				}
				for _, f := range findings {
					fmt.Fprintf(w, "%s: %s (row %s)\n", strings.ReplaceAll(string(f.Code), "_", " "), oneLine(f.Message), f.RowID)
				}
			})
		},
	}
}
