package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/httpapi"
	"holm/internal/servers"
	"holm/internal/spelling"
	"holm/policy"
	"holm/policy/rulestore"
)

func (c *cli) newGrantCommand() *cobra.Command {
	var tool string
	var conditions, to []string
	var ask, required, force bool
	cmd := &cobra.Command{
		Use:   "grant AGENT SERVER",
		Short: "Let an agent use the tools of a server",
		Long: "Let an agent use tools of a server: all, or those that a pattern names (* stands for any text).\n" +
			"With --ask each call waits until an owner approves it.\n\n" +
			"--args limits the grant to calls whose arguments match. It takes one or more ARG=PATTERN: a glob, or\n" +
			"after re: a regular expression that has to match the whole value. All conditions of one grant must\n" +
			"hold; several grants add up. An argument that a call does not carry is not checked, unless with\n" +
			"--required. Limit tools by name: a pattern may cover one that calls the same thing otherwise. An argument\n" +
			"that no such tool has is refused without --force.\n\n" +
			"--to adds people to a grant with the same tools and conditions. To take some out, replace the row with\n" +
			"holm policy set, or take all of it back with holm revoke. A grant about tools that the server does not have\n" +
			"now is stored, with a note on standard error; so is one to people who are not there.",
		Example: "  holm grant claude git --tool 'log*'\n" +
			"  holm grant claude git --tool push --ask\n" +
			"  holm grant claude files --tool read --args 'path=/srv/data/**' --required\n" +
			"  holm grant claude db --tool query --args 'sql=re:^SELECT\\s.*' 'db=production' --to role:owner",
		Args: exactly("AGENT", "SERVER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := newGrant(args[1], tool, ask, conditions, to)
			if err != nil {
				return err
			}
			if err := requireArguments(row.Scope.Args, required); err != nil {
				return err
			}
			row.AddGrants, row.Force = true, force
			return c.grant(cmd, args[0], args[1], row)
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "*", "tool, or a pattern of tools")
	cmd.Flags().StringArrayVar(&conditions, "args", nil, "ARG=PATTERN, or ARG=re:REGEX; several may follow")
	cmd.Flags().BoolVar(&required, "required", false, "calls have to carry the arguments of --args")
	cmd.Flags().BoolVar(&ask, "ask", false, "have an owner approve each call")
	cmd.Flags().BoolVar(&force, "force", false, "store the grant although no tool has an argument that it names, or somebody is locked out by it")
	cmd.Flags().StringArrayVar(&to, "to", nil, "who: user:U, role:R or circle:C; may be repeated; default anybody who uses the agent")
	return cmd
}

func newGrant(server, tool string, ask bool, conditions, to []string) (row client.Policy, err error) {
	row = client.Policy{ResourceType: policy.TypeTool, ResourceKey: servers.ResourceKey(server, tool), Effect: policy.Allow}
	if tool == "" {
		return row, usagef("--tool: the pattern is empty")
	}
	if ask {
		row.Effect = policy.RequireApproval
	}
	if row.Scope.Args, err = parseConditions(conditions); err != nil {
		return row, err
	}
	row.Grants, err = parseGrants(to)
	return row, err
}

func parseConditions(texts []string) (list []policy.Condition, err error) {
	for _, text := range texts {
		arg, pattern, ok := strings.Cut(text, "=")
		if !ok || arg == "" {
			return nil, usagef("--args: %q is not ARG=PATTERN", text)
		}
		one := policy.Condition{Arg: arg, Match: policy.MatchGlob, Pattern: pattern}
		if regex, ok := strings.CutPrefix(pattern, "re:"); ok {
			one.Match, one.Pattern = policy.MatchRegex, regex
		}
		list = append(list, one)
	}
	return list, nil
}

// requireArguments makes calls without one of the arguments fail the grant.
func requireArguments(conditions []policy.Condition, required bool) error {
	if required && len(conditions) == 0 {
		return usagef("--required goes with --args")
	}
	for i := range conditions {
		conditions[i].Required = required
	}
	return nil
}

func parseGrants(texts []string) ([]policy.Grant, error) {
	if len(texts) == 0 {
		return []policy.Grant{policy.Any()}, nil
	}
	var list []policy.Grant
	for _, text := range texts {
		kind, value, _ := strings.Cut(text, ":")
		switch kind := policy.GrantKind(kind); {
		case text == string(policy.GrantAny):
			list = append(list, policy.Any())
		case value != "" && (kind == policy.GrantUser || kind == policy.GrantRole || kind == policy.GrantCircle):
			list = append(list, policy.Grant{Type: kind, Value: value})
		default:
			return nil, usagef("--to: %q is not user:U, role:R or circle:C", text)
		}
	}
	return list, nil
}

func (c *cli) grant(cmd *cobra.Command, agent, server string, row client.Policy) error {
	holm, _, err := c.connect()
	if err != nil {
		return err
	}
	if _, err := holm.Agent(cmd.Context(), agent); err != nil {
		return err
	}
	known, err := holm.Server(cmd.Context(), server)
	if isNotFound(err) {
		return fmt.Errorf("%w (holm list servers); for one that is yet to come: holm policy set %s tool '%s' %s", err, agent, row.ResourceKey, row.Effect)
	}
	if err != nil {
		return err
	}
	stored, err := holm.SetPolicy(cmd.Context(), agent, row)
	if err != nil {
		return err
	}
	tellNotes(cmd, grantNotes(agent, known, stored))
	return c.print(cmd, stored, func(w io.Writer) {
		how := "Allowed"
		if row.Effect == policy.RequireApproval {
			how = "Allowed after an owner's approval"
		}
		fmt.Fprintf(w, "%s for agent %s: %s", how, agent, oneLine(row.ResourceKey))
		for _, one := range row.Scope.Args {
			fmt.Fprintf(w, ", if %s matches %s", oneLine(one.Arg), oneLine(one.Pattern))
		}
		fmt.Fprintf(w, " (for %s)\n", oneLine(rowGrants(stored.Grants)))
	})
}

// grantNotes are the notes on a grant; that the server has no such tool is said with
// the way back.
func grantNotes(agent string, server httpapi.Server, stored rulestore.Written) []policy.Finding {
	notes := slices.DeleteFunc(slices.Clone(stored.Notes), func(n policy.Finding) bool {
		return n.Code == policy.FindingUnknownTool
	})
	if warning := offersNone(agent, server, stored.ResourceKey); warning != "" {
		notes = append(notes, policy.Finding{Code: policy.FindingUnknownTool, Message: warning})
	}
	return notes
}

// offersNone says of a grant that it is about no tool that the server has now;
// empty when it is about some, or none is known.
func offersNone(agent string, server httpapi.Server, key string) string {
	if server.Status == nil || len(server.Status.Tools) == 0 {
		return "" // which tools it has is not known yet
	}
	prefix := servers.ResourceKey(server.Name, "")
	if slices.ContainsFunc(server.Status.Tools, func(tool string) bool { return covers(key, prefix+tool) }) {
		return ""
	}
	tool := strings.TrimPrefix(key, prefix)
	text := fmt.Sprintf("server %s has no tool %q now.", server.Name, tool)
	if strings.Contains(tool, "*") {
		text = fmt.Sprintf("server %s has no tool that %q names now.", server.Name, tool)
	} else if near := spelling.Nearest(tool, server.Status.Tools, 2); near != "" {
		text += fmt.Sprintf(" Did you mean %s?", near)
	}
	return text + fmt.Sprintf(" The grant stays for one to come; holm revoke %s %s --tool '%s' takes it back", agent, server.Name, tool)
}

func grantsText(grants []policy.Grant) string {
	texts := make([]string, len(grants))
	for i, g := range grants {
		texts[i] = g.String()
	}
	if len(texts) == 0 {
		return "nobody"
	}
	return strings.Join(texts, ", ")
}
