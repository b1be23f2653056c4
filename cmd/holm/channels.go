package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holm/internal/httpapi"
)

func (c *cli) newChannelsCommand() *cobra.Command {
	cmd := group("channels", "See channels, register those that run outside",
		c.newChannelsListCommand(), c.newChannelsAddCommand(), c.newChannelsRemoveCommand())
	cmd.Aliases = []string{"channel"}
	return cmd
}

func (c *cli) newChannelsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List channels", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			list, err := holm.Channels(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(cmd, list, func(w io.Writer) { printChannels(w, list) })
		},
	}
}

func printChannels(w io.Writer, list []httpapi.Channel) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No channels. Set HOLM_TELEGRAM_TOKEN or the Slack tokens for holm serve.")
		return
	}
	table(w, "CHANNEL AGENT KIND STATE ACCOUNT", func(row func(...any)) {
		for _, ch := range list {
			row(ch.Namespace, ch.AgentID, ch.Kind, channelState(ch), orDash(&ch.Account))
		}
	})
	for _, ch := range list {
		for _, r := range ch.Closed {
			fmt.Fprintln(w, oneLine(fmt.Sprintf("%s:%s (%s) cannot be written to since %s: %s",
				ch.Namespace, r.Identity, r.Name, r.Since.UTC().Format(time.RFC3339), r.Reason)))
		}
	}
}

func channelState(ch httpapi.Channel) string {
	switch {
	case ch.Connected == nil:
		return "-"
	case *ch.Connected && ch.Error != "":
		return "connected, but " + ch.Error
	case *ch.Connected:
		return "connected"
	case ch.Error != "":
		return ch.Error
	}
	return "not connected"
}

func (c *cli) newChannelsAddCommand() *cobra.Command {
	var agent, url string
	cmd := &cobra.Command{
		Use: "add NAME --url URL", Short: "Register a channel that runs outside and show its token, once", Args: exactly("NAME"),
		Long: "Register an adapter of your own for another chat platform. It takes cards at its address and calls\n" +
			"the REST interface with its token, naming the acting person in X-Channel-User-Id. NAME is the first\n" +
			"part of its identities. docs/channel-adapters.md is the contract.",
		Example: "  holm channels add matrix --url http://127.0.0.1:9000/holm --agent main",
		RunE: func(cmd *cobra.Command, args []string) error {
			if url == "" {
				return usagef("say with --url where the adapter takes cards")
			}
			holm, name, err := c.connectFor(cmd.Context(), agent)
			if err != nil {
				return err
			}
			made, err := holm.AddChannel(cmd.Context(), args[0], name, url)
			if err != nil {
				return err
			}
			return c.print(cmd, made, func(w io.Writer) {
				fmt.Fprintf(w, "Channel %s of agent %s is registered. Shown only now:\n  token           %s\n  signing secret  %s\n",
					made.Namespace, made.AgentID, made.Token, made.SigningSecret)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent; default that of HOLM_AGENT, or the only one there is")
	cmd.Flags().StringVar(&url, "url", "", "where the adapter takes cards (required)")
	return cmd
}

func (c *cli) newChannelsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a channel that runs outside", Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := holm.RemoveChannel(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.done(cmd.OutOrStdout(), "Channel %s is removed; its token is void.", args[0])
		},
	}
}
