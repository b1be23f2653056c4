package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/identity"
)

// newUsersCommand manages people; who is invited becomes one by talking to the
// bot.
func (c *cli) newUsersCommand() *cobra.Command {
	cmd := group("users", "See and change the people of an agent",
		agentList(c, "List people with their roles and identities", (*client.Client).Members, printMembers),
		c.newUsersShowCommand(),
		c.newUsersMergeCommand(),
		c.newUsersUndoCommand(),
		c.newPeopleChange("link USER IDENTITY", "Let whoever has an identity, such as telegram:123456, be this user", "%[2]s is %[1]s now.",
			func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
				return nil, holm.AddIdentity(ctx, a[0], a[1])
			}),
		c.newForcedChange("unlink USER IDENTITY", "Take an identity from a user", "%[2]s is nobody's now.",
			func(ctx context.Context, holm *client.Client, a []string, force bool) (aftermath, error) {
				return nil, holm.RemoveIdentity(ctx, a[0], a[1], force)
			}),
		c.newForcedChange("role AGENT USER ROLE", "Change somebody's role: owner, user or guest", "%[2]s is %[3]s of agent %[1]s now.",
			func(ctx context.Context, holm *client.Client, a []string, force bool) (aftermath, error) {
				return holm.SetRole(ctx, a[0], a[1], a[2], force)
			}),
		c.newForcedChange("remove AGENT USER", "Take somebody from an agent", "%[2]s is no longer with agent %[1]s.",
			func(ctx context.Context, holm *client.Client, a []string, force bool) (aftermath, error) {
				return holm.RemoveMember(ctx, a[0], a[1], force)
			}))
	cmd.Aliases = []string{"user"}
	return cmd
}

// newForcedChange is a change that is refused when no owner would be left.
func (c *cli) newForcedChange(use, short, done string, change func(context.Context, *client.Client, []string, bool) (aftermath, error)) *cobra.Command {
	var force bool
	cmd := c.newPeopleChange(use, short, done, func(ctx context.Context, holm *client.Client, args []string) (aftermath, error) {
		return change(ctx, holm, args, force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "also when the agent has no owner left then")
	return cmd
}

func printMembers(w io.Writer, agent string, members []identity.Member) {
	if len(members) == 0 {
		fmt.Fprintf(w, "Nobody. Invite somebody: holm invite --agent %s\n", agent)
		return
	}
	table(w, "USER NAME ROLE IDENTITIES", func(row func(...any)) {
		for _, m := range members {
			row(m.UserID, m.Name, m.Role, fmt.Sprint(m.Identities))
		}
	})
}
