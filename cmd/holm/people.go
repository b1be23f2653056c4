package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"holm/internal/httpapi"
)

func (c *cli) newInviteCommand() *cobra.Command {
	var agent, role string
	cmd := &cobra.Command{
		Use: "invite", Short: "Invite a person to an agent", Args: exactly(),
		Long: "Make an invitation that can be used once, within a day: whoever opens the link and talks to the bot\n" +
			"first gets the role. Owners approve requests; send the link to nobody else.",
		Example: "  holm invite --role owner\n  holm invite --agent claude --role user",
		RunE: func(cmd *cobra.Command, _ []string) error {
			holm, name, err := c.connectFor(cmd.Context(), agent)
			if err != nil {
				return err
			}
			invite, err := holm.Invite(cmd.Context(), name, role)
			if err != nil {
				return err
			}
			return c.print(cmd, invite, func(w io.Writer) { printInvite(w, name, role, invite) })
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent; default that of HOLM_AGENT, or the only one there is")
	cmd.Flags().StringVar(&role, "role", "owner", "owner, user or guest")
	return cmd
}

func printInvite(w io.Writer, agent, role string, invite httpapi.Invite) {
	fmt.Fprintf(w, "An invitation to be %s of agent %s. It can be used once, until %s.\n", role, agent, when(invite.ExpiresAt))
	for _, channel := range slices.Sorted(maps.Keys(invite.Links)) {
		link := invite.Links[channel]
		if link.URL != "" {
			fmt.Fprintf(w, "  %-9s open %s\n", channel, oneLine(link.URL))
		}
		if link.Hint != "" {
			fmt.Fprintf(w, "  %-9s %s\n", channel, oneLine(link.Hint))
		}
	}
	if len(invite.Links) == 0 {
		fmt.Fprintf(w, "No channel is connected. On one that is, send the bot: link %s\n", invite.Token)
	}
}
