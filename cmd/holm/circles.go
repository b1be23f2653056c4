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
			func(ctx context.Context, holm *client.Client, a []string) error {
				return holm.JoinCircle(ctx, a[0], a[1], a[2])
			}),
		c.newPeopleChange("remove AGENT CIRCLE USER", "Take somebody out of a circle", "%[3]s is no longer in circle %[2]s of agent %[1]s.",
			func(ctx context.Context, holm *client.Client, a []string) error {
				return holm.LeaveCircle(ctx, a[0], a[1], a[2])
			}),
		c.newPeopleChange("delete AGENT CIRCLE", "Empty a circle", "Circle %[2]s of agent %[1]s is gone; rows that grant to it speak for nobody.",
			func(ctx context.Context, holm *client.Client, a []string) error {
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

// newPeopleChange is a command whose arguments are those of done and change.
func (c *cli) newPeopleChange(use, short, done string, change func(context.Context, *client.Client, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly(strings.Fields(use)[1:]...),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := change(cmd.Context(), holm, args); err != nil {
				return err
			}
			shown := make([]any, len(args))
			for i, arg := range args {
				shown[i] = arg
			}
			return c.done(cmd.OutOrStdout(), done, shown...)
		},
	}
}
