package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holm/internal/httpapi"
)

func (c *cli) newChannelsRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate (telegram | slack | discord | NAME)", Short: "Give a channel other secrets while it runs", Args: exactly("NAME"),
		Long: "Give one of Holm's own channels that was added its new secrets (see holm channels rotate slack --help), or an\n" +
			"adapter of your own a new token and signing secret, which are shown once. The earlier ones of an adapter end\n" +
			"at once: what Holm sends it meanwhile is tried again, what it sends with the old token is refused with 401.",
		Example: "  holm channels rotate telegram --token-file new\n  holm channels rotate matrix",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			made, err := holm.RotateChannel(cmd.Context(), args[0], httpapi.ChannelSecrets{})
			if err != nil {
				return err
			}
			return c.print(cmd, made, func(w io.Writer) {
				fmt.Fprintf(w, "The earlier token of channel %s is void. Shown only now:\n", made.Namespace)
				printToken(w, made)
			})
		},
	}
	telegram := &secretFlag{name: "token", label: "New bot token of @BotFather"}
	discord := &secretFlag{name: "token", label: "New bot token of the Developer Portal"}
	ifGiven := func() bool { return false }
	cmd.AddCommand(
		c.newRotateOwnCommand("telegram", telegram),
		c.newRotateOwnCommand("slack",
			&secretFlag{name: "bot_token", wanted: ifGiven}, &secretFlag{name: "app_token", wanted: ifGiven}, &secretFlag{name: "signing_secret", wanted: ifGiven}),
		c.newRotateOwnCommand("discord", discord))
	return cmd
}

// newRotateOwnCommand changes one of Holm's own channels that was added. Secrets
// that are wanted on request alone stay what they are without their files.
func (c *cli) newRotateOwnCommand(name string, secrets ...*secretFlag) *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use: name, Short: "Give the " + name + " channel its new secrets", Args: exactly(),
		Long: "Give the " + name + " channel its new secrets, of the same bot or app. What is not named stays. Every running\n" +
			"process goes over to them at once, and stops receiving with the earlier ones once it receives with the new.\n" + secretsRead,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		var in httpapi.ChannelSecrets
		if cmd.Flags().Changed("mode") {
			in.Mode = &mode
		}
		for _, s := range secrets {
			if in.Mode != nil { // which may be all that changes
				s.wanted = func() bool { return false }
			}
		}
		if in.Secrets, err = readSecrets(cmd, secrets); err != nil {
			return err
		}
		if in.Mode == nil && len(in.Secrets) == 0 {
			return usagef("say with the file of a secret which one is new")
		}
		holm, _, err := c.connect()
		if err != nil {
			return err
		}
		if _, err := holm.RotateChannel(cmd.Context(), name, in); err != nil {
			return err
		}
		state, err := opened(cmd.Context(), holm, name)
		if err != nil {
			return err
		}
		return c.print(cmd, state, func(w io.Writer) {
			fmt.Fprintf(w, "Channel %s has its new secrets: %s.\n", name, oneLine(channelState(state)))
		})
	}
	for _, s := range secrets {
		cmd.Flags().StringVar(&s.file, s.option(), "", "file of the new "+s.flag()+", - for standard input")
	}
	cmd.Flags().StringVar(&mode, "mode", "", "how events arrive from now on; what it is where not given")
	if name == "discord" {
		_ = cmd.Flags().MarkHidden("mode") // there is one
	}
	return cmd
}
