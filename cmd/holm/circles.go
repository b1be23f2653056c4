package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/identity"
)

// newCirclesCommand manages the flat labels that grants may name.
func (c *cli) newCirclesCommand() *cobra.Command {
	cmd := group("circles", "See and change the circles of an agent's people",
		agentList(c, "List circles and who is in them", (*client.Client).Circles, printCircles),
		c.newPeopleChange("add AGENT CIRCLE USER", "Put a member of the agent into a circle", "%[3]s is in circle %[2]s of agent %[1]s.",
			func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
				return holm.JoinCircle(ctx, a[0], a[1], a[2])
			}),
		c.newPeopleChange("remove AGENT CIRCLE USER", "Take somebody out of a circle", "%[3]s is no longer in circle %[2]s of agent %[1]s.",
			func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
				return holm.LeaveCircle(ctx, a[0], a[1], a[2])
			}),
		c.newPeopleChange("delete AGENT CIRCLE", "Empty a circle, with what rows allow to it", "Circle %[2]s of agent %[1]s is gone.",
			func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
				return holm.DeleteCircle(ctx, a[0], a[1])
			}))
	cmd.Aliases = []string{"circle"}
	return cmd
}

func printCircles(w io.Writer, agent string, circles []identity.Circle) {
	if len(circles) == 0 {
		fmt.Fprintf(w, "No circles. Make one with its first member: holm circles add %s CIRCLE USER\n", agent)
		return
	}
	table(w, "CIRCLE USER NAME ROLE", func(row func(...any)) {
		for _, circle := range circles {
			for _, m := range circle.Members {
				row(circle.Name, m.UserID, m.Name, m.Role)
			}
		}
	})
}

// aftermath is what a change says of itself besides that it was made.
type aftermath interface {
	// Lines are for people; revoke is the command that ends an approval, without its
	// number.
	Lines(revoke string) []string
}

// newPeopleChange is a command whose arguments are those of done and change.
func (c *cli) newPeopleChange(use, short, done string, change func(context.Context, *client.Client, []string) (aftermath, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly(strings.Fields(use)[1:]...),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			more, err := change(cmd.Context(), holm, args)
			if err != nil {
				return err
			}
			shown := make([]any, len(args))
			for i, arg := range args {
				shown[i] = arg
			}
			return c.doneAnd(cmd, more, "holm approvals revoke "+args[0], done, shown...)
		},
	}
}

// doneAnd is done with what more there is to tell; nil is nothing.
func (c *cli) doneAnd(cmd *cobra.Command, more aftermath, revoke, format string, args ...any) error {
	if more == nil {
		return c.done(cmd.OutOrStdout(), format, args...)
	}
	return c.print(cmd, more, func(w io.Writer) {
		fmt.Fprintf(w, format+"\n", args...)
		for _, line := range more.Lines(revoke) {
			fmt.Fprintln(w, oneLine(line))
		}
	})
}
