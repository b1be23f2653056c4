package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/httpapi"
)

func (c *cli) newChannelsCommand() *cobra.Command {
	cmd := group("channels", "See, add, test, rotate and remove channels",
		c.newChannelsListCommand(), c.newChannelsShowCommand(), c.newChannelsAddCommand(), c.newChannelsTestCommand(),
		c.newChannelsRotateCommand(), c.newChannelsRemoveCommand())
	cmd.Aliases = []string{"channel"}
	return cmd
}

func (c *cli) newChannelsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List channels with their state", Args: exactly(),
		Long: "List channels. QUEUED, FAILED and UNREACHABLE count the cards of the last 24 hours that are on their\n" +
			"way, whose last send or edit failed, and that reached nobody.",
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
		fmt.Fprintln(w, "No channels yet. Add one: holm channels add telegram")
		return
	}
	table(w, "CHANNEL AGENT KIND STATE ACCOUNT LAST-EVENT QUEUED FAILED UNREACHABLE", func(row func(...any)) {
		for _, ch := range list {
			row(ch.Namespace, ch.AgentID, channelKind(ch), channelState(ch), orDash(&ch.Account), when(ch.LastEvent),
				ch.Cards.Queued, ch.Cards.Failed, ch.Cards.Unreachable)
		}
	})
	for _, ch := range list {
		if n := len(ch.Closed); n > 0 {
			fmt.Fprintf(w, "%d cannot be written to: holm channels show %s\n", n, ch.Namespace)
		}
	}
}

// channelKind tells also who can take the channel away.
func channelKind(ch httpapi.Channel) string {
	if ch.Kind == "builtin" && ch.SetBy == "operator" {
		return "builtin, added"
	}
	return ch.Kind
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

func (c *cli) newChannelsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a channel, whom it cannot write to, and its last failures", Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			ch, err := holm.Channel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, ch, func(w io.Writer) { printChannel(w, ch) })
		},
	}
}

func printChannel(w io.Writer, ch httpapi.ChannelDetails) {
	printChannels(w, []httpapi.Channel{ch.Channel})
	if ch.URL != "" {
		fmt.Fprintf(w, "\nTakes cards at %s\n", oneLine(ch.URL))
	}
	if len(ch.Closed) > 0 {
		fmt.Fprintln(w, "\nCannot be written to:")
		table(w, "PERSON NAME SINCE REASON", func(row func(...any)) {
			for _, r := range ch.Closed {
				row(ch.Namespace+":"+r.Identity, orDash(&r.Name), when(r.Since), r.Reason)
			}
		})
	}
	if len(ch.Failures) > 0 {
		fmt.Fprintln(w, "\nLast cards that failed:")
		table(w, "REQUEST AGENT PERSON STATE ATTEMPTS QUEUED ERROR", func(row func(...any)) {
			for _, f := range ch.Failures {
				row(fmt.Sprintf("#%d", f.ShortID), f.AgentID, ch.Namespace+":"+f.Identity, f.State, f.Attempts, when(f.QueuedAt), f.Error)
			}
		})
	}
}

func (c *cli) newChannelsAddCommand() *cobra.Command {
	var agent, url string
	var lists int
	cmd := &cobra.Command{
		Use: "add (telegram | slack | discord | NAME --url URL)", Short: "Add a channel", Args: exactly("NAME"),
		Long: "Add one of Holm's own channels (see holm channels add telegram --help), or register an adapter of your\n" +
			"own for another chat platform. An adapter takes cards at its address and calls the REST interface with\n" +
			"its token, which is shown once, naming the acting person in X-Channel-User-Id. NAME is the first part of\n" +
			"its identities. docs/channel-adapters.md is the contract.",
		Example: "  holm channels add telegram\n  holm channels add matrix --url http://127.0.0.1:9000/holm --agent main",
		RunE: func(cmd *cobra.Command, args []string) error {
			if url == "" {
				return usagef("say with --url where the adapter takes cards")
			}
			holm, name, err := c.connectFor(cmd.Context(), agent)
			if err != nil {
				return err
			}
			made, err := holm.AddChannel(cmd.Context(), client.NewChannel{Namespace: args[0], AgentID: name, URL: url, Lists: lists})
			if err != nil {
				return err
			}
			return c.print(cmd, made, func(w io.Writer) {
				fmt.Fprintf(w, "Channel %s of agent %s is registered. Shown only now:\n", made.Namespace, made.AgentID)
				printToken(w, made)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", agentOfChannel)
	cmd.Flags().StringVar(&url, "url", "", "where the adapter takes cards (required)")
	cmd.Flags().IntVar(&lists, "lists", 0, "how many requests one message of the adapter lists, 2 to 24; 0 for a card each")
	cmd.AddCommand(c.newAddTelegramCommand(), c.newAddSlackCommand(), c.newAddDiscordCommand())
	return cmd
}

func printToken(w io.Writer, made httpapi.ChannelAdded) {
	fmt.Fprintf(w, "  token           %s\n  signing secret  %s\n", made.Token, made.SigningSecret)
}

func (c *cli) newChannelsTestCommand() *cobra.Command {
	var want httpapi.ChannelTest
	cmd := &cobra.Command{
		Use: "test [NAME]", Short: "Send every owner a test card and tell who got it", Args: atMost("NAME"),
		Long: "Send every owner, on every channel or the named one, a card that says it is a test and decides nothing.\n" +
			"The exit code is 1 when somebody was not reached, or when there is nobody to reach.",
		Example: "  holm channels test\n  holm channels test telegram --agent main",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				want.Namespace = args[0]
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			list, err := holm.TestChannels(cmd.Context(), want)
			if err != nil {
				return err
			}
			if err := c.print(cmd, list, func(w io.Writer) { printReached(w, list) }); err != nil {
				return err
			}
			if len(list) == 0 {
				return &exitError{code: exitFailed, message: "no owner has an address on a channel (holm channels list); invite one: holm invite --agent AGENT --role owner"}
			}
			for _, r := range list {
				if !r.Reached {
					return &exitError{code: exitFailed}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&want.AgentID, "agent", "", "only the owners of this agent")
	return cmd
}

func printReached(w io.Writer, list []httpapi.ChannelReached) {
	if len(list) == 0 {
		return
	}
	table(w, "PERSON NAME AGENT REACHED", func(row func(...any)) {
		for _, r := range list {
			reached := "yes"
			if !r.Reached {
				reached = "no: " + r.Why
			}
			row(r.Channel+":"+r.Identity, orDash(&r.Name), r.AgentID, reached)
		}
	})
}

func (c *cli) newChannelsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Close a channel that was added", Args: exactly("NAME"),
		Long: "Close a channel that was added: every process stops it, its secrets are deleted, and the token of one\n" +
			"that runs outside is void. A channel that the settings of holm serve name is taken out there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := holm.RemoveChannel(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.done(cmd.OutOrStdout(), "Channel %s is removed; its secrets are void here.", args[0])
		},
	}
}
