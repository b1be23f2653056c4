package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/identity"
)

func (c *cli) newUsersShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show USER", Short: "Show a person: identities, roles, merges", Args: exactly("USER"),
		Long:    "Show a person, named by id or by an identity such as telegram:123456.",
		Example: "  holm users show telegram:123456",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			p, err := holm.User(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, p, func(w io.Writer) { printProfile(w, p) })
		},
	}
}

func printProfile(w io.Writer, p identity.Profile) {
	fmt.Fprintf(w, "User %s, %s, known since %s\n", p.ID, oneLine(p.Name), when(p.CreatedAt))
	fmt.Fprintf(w, "  known as  %s\n", oneLine(strings.Join(p.Identities, ", ")))
	for _, r := range p.Roles {
		fmt.Fprintf(w, "  %-8s  of agent %s\n", r.Role, r.AgentID)
	}
	for _, m := range p.Merges {
		fmt.Fprintf(w, "  merge %d   user %s was merged into %s, %s by %s\n", m.Number, m.SourceID, m.TargetID, when(m.MergedAt), oneLine(m.MergedBy))
	}
}

func (c *cli) newUsersMergeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "merge USER INTO", Short: "Make a user the same person as another, who lives on", Args: exactly("USER", "INTO"),
		Long: "Make a user the same person as another. With each agent they have the highest role that one of them had;\n" +
			"requests, approvals, grants, circles and sessions of both are theirs. Both are told. Users are named by id\n" +
			"or identity.",
		Example: "  holm users merge telegram:123456 slack:T01/U02",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			m, err := holm.MergeUser(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return c.print(cmd, m, func(w io.Writer) {
				fmt.Fprintf(w, "%s and %s are one person. Undo: holm users undo %d\n", args[0], args[1], m.Number)
			})
		},
	}
}

func (c *cli) newUsersUndoCommand() *cobra.Command {
	return c.newPeopleChange("undo MERGE", "Undo a merge: each user is as before", "Merge %[1]s is undone.",
		func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
			number, err := strconv.ParseInt(a[0], 10, 64)
			if err != nil || number < 1 {
				return nil, usagef("%q is not the number of a merge; see holm users show USER", a[0])
			}
			return nil, holm.UndoMerge(ctx, number)
		})
}
