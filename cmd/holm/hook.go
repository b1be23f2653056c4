package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holm/internal/client"
)

func (c *cli) newHookCommand() *cobra.Command {
	return group("hook", "Answer the hooks of other programs", c.newClaudeCodeCommand())
}

// hookWait is below the 60 seconds after which Claude Code gives a hook up that
// has no timeout of its own: it would then go on as if there were none.
const hookWait = 50

func (c *cli) newClaudeCodeCommand() *cobra.Command {
	var f gateFlags
	var settings bool
	cmd := &cobra.Command{
		Use: "claude-code", Short: "Put the tool calls of Claude Code to the gate", Args: exactly(),
		Long: "Answer Claude Code's PreToolUse hook: JSON on standard input, the decision on standard output. Any tool\n" +
			"with a command in its input (Bash, Monitor, PowerShell) becomes a command (exec); Read, Write, Edit, MultiEdit,\n" +
			"NotebookEdit and LS a file, Glob and Grep a search of all below a folder; mcp__SERVER__TOOL the tool of that server,\n" +
			"unless it is this Holm, which decides by itself; any other NAME the tool claude_code__NAME. What is not allowed or\n" +
			"approved in time is denied, and so is everything when something is wrong. Keep --wait below the hook's timeout: Claude Code goes on without a\n" +
			"hook that does not answer. --print-settings writes the settings with a timeout that fits.",
		Example: "  holm hook claude-code --print-settings --wait 300 > .claude/settings.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if settings {
				return printHookSettings(cmd.OutOrStdout(), f)
			}
			return c.answerClaudeCode(cmd, f)
		},
	}
	f.add(cmd, hookWait)
	cmd.Flags().BoolVar(&settings, "print-settings", false, "print the part of settings.json that installs the hook")
	return cmd
}

// hookAnswer is what Claude Code reads.
type hookAnswer struct {
	Output struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

// answerClaudeCode decides. Every failure is a denial: Claude Code blocks on one,
// or on exit code 2, and on nothing else.
func (c *cli) answerClaudeCode(cmd *cobra.Command, f gateFlags) error {
	answer := hookAnswer{}
	answer.Output.Event, answer.Output.Decision, answer.Output.Reason = "PreToolUse", "allow", "allowed by Holm"
	if err := c.claudeCode(cmd, f); err != nil {
		answer.Output.Decision, answer.Output.Reason = "deny", hookReason(err)
	}
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return &exitError{code: exitUsage, message: "the decision could not be written: " + err.Error()}
	}
	return nil
}

// maxHookInput bounds what is read of a call.
const maxHookInput = 16 << 20

// answerMargin is what the gate gets beyond the wait; it must leave some of the
// hook's timeout.
const answerMargin = 5 * time.Second

func (c *cli) claudeCode(cmd *cobra.Command, f gateFlags) error {
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxHookInput+1))
	if err != nil {
		return fmt.Errorf("the call could not be read: %w", err)
	}
	if len(text) > maxHookInput {
		return errors.New("the call is too large to be judged")
	}
	call, err := readClaudeCode(text)
	if err != nil {
		return err
	}
	holm, agent, err := c.connectAgent(&f)
	if err != nil {
		return err
	}
	if call.toHolm(holm.Address()) {
		return nil
	}
	question, err := call.question()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(f.wait)*time.Second+answerMargin)
	defer cancel()
	_, err = holm.Enforce(ctx, agent, client.Enforcement{Check: question, SessionID: f.session, Wait: f.wait})
	return ofKey(err, agent)
}

const noWorkaround = "Do not try to reach the same effect in another way."

// hookReason is what the model reads.
func hookReason(err error) string {
	var problem *client.Problem
	if !errors.As(err, &problem) {
		return "Holm could not decide, so the call is denied: " + oneLine(err.Error())
	}
	text := "Holm: " + oneLine(problem.Error()) + ". "
	if problem.Code == "approval_required" {
		return text + "Make the same call again with the same input to get the answer. Silence is not consent. " + noWorkaround
	}
	return text + noWorkaround
}

// printHookSettings writes settings whose timeout is beyond the wait, and which
// block when this program is not there any more.
func printHookSettings(w io.Writer, f gateFlags) error {
	if f.wait < 0 || f.wait > maxWait {
		return usagef("--wait: want 0 to %d seconds", maxWait)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := []string{self, "hook", "claude-code", "--wait", fmt.Sprint(f.wait)}
	if f.agent != "" {
		argv = append(argv, "--agent", f.agent)
	}
	if f.keyFile != "" {
		argv = append(argv, "--key-file", f.keyFile)
	}
	if f.session != "" {
		argv = append(argv, "--session", f.session)
	}
	type object = map[string]any
	return printJSON(w, object{"hooks": object{"PreToolUse": []object{{
		"matcher": "*",
		"hooks": []object{{
			"type": "command", "command": commandText(argv) + " || exit 2", "timeout": f.wait + 30,
		}},
	}}}})
}
