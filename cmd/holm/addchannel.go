package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"holm/internal/client"
	"holm/internal/httpapi"
)

const agentOfChannel = "the agent; default that of HOLM_AGENT, or the only one there is"

// secretFlag is a secret of a channel and the file that it is read from.
type secretFlag struct {
	// name is that of the secret in the API, label what a person calls it.
	name, label string
	file        string
	wanted      func() bool
}

func (c *cli) newAddTelegramCommand() *cobra.Command {
	token := &secretFlag{name: "token", label: "Bot token of @BotFather"}
	cmd := c.addOwnCommand("telegram", "Add the Telegram channel", token)
	cmd.Long = "Add the Telegram channel with the token that @BotFather gave for the bot. Every running process opens it\n" +
		"at once. " + secretsRead
	cmd.Example = "  holm channels add telegram\n  pass show holm/telegram | holm channels add telegram --token-file -"
	cmd.Flags().StringVar(&token.file, "token-file", "", "file of the bot's token, - for standard input")
	cmd.Flags().Lookup("mode").Usage = "how updates arrive: polling (default) or webhook"
	return cmd
}

func (c *cli) newAddSlackCommand() *cobra.Command {
	bot := &secretFlag{name: "bot_token", label: "Bot token (xoxb-…)"}
	app := &secretFlag{name: "app_token", label: "App-level token (xapp-…)"}
	signing := &secretFlag{name: "signing_secret", label: "Signing secret"}
	cmd := c.addOwnCommand("slack", "Add the Slack channel", bot, app, signing)
	byEvents := func() bool { return cmd.Flags().Lookup("mode").Value.String() == "events" }
	app.wanted = func() bool { return !byEvents() }
	signing.wanted = byEvents
	cmd.Long = "Add the Slack channel with the bot token of the app and its app-level token, or with --mode events its\n" +
		"signing secret. Every running process opens it at once. docs/slack-manifest.yaml makes the app.\n" + secretsRead
	cmd.Example = "  holm channels add slack --bot-token-file bot --app-token-file app"
	cmd.Flags().StringVar(&bot.file, "bot-token-file", "", "file of the bot token, - for standard input")
	cmd.Flags().StringVar(&app.file, "app-token-file", "", "file of the app-level token")
	cmd.Flags().StringVar(&signing.file, "signing-secret-file", "", "file of the signing secret")
	cmd.Flags().Lookup("mode").Usage = "how events arrive: socket (default) or events"
	return cmd
}

func (c *cli) newAddDiscordCommand() *cobra.Command {
	token := &secretFlag{name: "token", label: "Bot token of the Developer Portal"}
	cmd := c.addOwnCommand("discord", "Add the Discord channel", token)
	cmd.Long = "Add the Discord channel with the token that the page Bot of the Developer Portal gave. Every running process\n" +
		"opens it at once. " + secretsRead
	_ = cmd.Flags().MarkHidden("mode") // there is one
	cmd.Example = "  holm channels add discord\n  pass show holm/discord | holm channels add discord --token-file -"
	cmd.Flags().StringVar(&token.file, "token-file", "", "file of the bot's token, - for standard input")
	return cmd
}

const secretsRead = "Secrets are read from files,\nor asked for at a terminal; they are kept sealed and never shown."

// addOwnCommand adds one of Holm's own channels.
func (c *cli) addOwnCommand(name, short string, secrets ...*secretFlag) *cobra.Command {
	in := client.NewChannel{Namespace: name}
	cmd := &cobra.Command{Use: name, Short: short, Args: exactly()}
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if in.Secrets, err = readSecrets(cmd, secrets); err != nil {
			return err
		}
		holm, agent, err := c.connectFor(cmd.Context(), in.AgentID)
		if err != nil {
			return err
		}
		in.AgentID = agent
		if _, err := holm.AddChannel(cmd.Context(), in); err != nil {
			return err
		}
		state, err := opened(cmd.Context(), holm, name)
		if err != nil {
			return err
		}
		return c.print(cmd, state, func(w io.Writer) {
			fmt.Fprintf(w, "Channel %s of agent %s is added: %s.\n", name, agent, oneLine(channelState(state)))
			fmt.Fprintf(w, "Make somebody an owner: holm invite --role owner --agent %s, then: holm channels test %s\n", agent, name)
		})
	}
	cmd.Flags().StringVar(&in.AgentID, "agent", "", agentOfChannel)
	cmd.Flags().StringVar(&in.Mode, "mode", "", "")
	return cmd
}

// openPatience is how long a new channel may take to show how it fares.
const openPatience = 10 * time.Second

// opened waits until a channel that was added is connected or has failed; one
// that takes longer shows later in the list.
func opened(ctx context.Context, holm *client.Client, name string) (httpapi.Channel, error) {
	late := time.After(openPatience)
	for {
		ch, err := holm.Channel(ctx, name)
		if err == nil && (ch.Error != "" || ch.Connected != nil && *ch.Connected) {
			return ch.Channel, nil
		}
		var problem *client.Problem
		if err != nil && (!errors.As(err, &problem) || problem.Code != "not_found") {
			return httpapi.Channel{}, err
		}
		select {
		case <-ctx.Done():
			return httpapi.Channel{}, ctx.Err()
		case <-late:
			no := false
			ch.Namespace, ch.Connected = name, &no
			return ch.Channel, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readSecrets reads the secrets that are wanted from their files; at a terminal
// it asks for those that have none.
func readSecrets(cmd *cobra.Command, secrets []*secretFlag) (map[string]string, error) {
	values := map[string]string{}
	stdin := false
	for _, s := range secrets {
		if s.file == "" && s.wanted != nil && !s.wanted() {
			continue
		}
		if s.file == "-" {
			if stdin {
				return nil, usagef("standard input can hold one secret")
			}
			stdin = true
		}
		value, err := s.read(cmd)
		if err != nil {
			return nil, err
		}
		if value = strings.TrimSpace(value); value == "" {
			return nil, usagef("the %s is empty", s.flag())
		}
		values[s.name] = value
	}
	return values, nil
}

func (s *secretFlag) flag() string { return strings.ReplaceAll(s.name, "_", " ") }

// option is the flag that names its file.
func (s *secretFlag) option() string { return strings.ReplaceAll(s.name, "_", "-") + "-file" }

// maxSecret is more than any platform's token has, in bytes.
const maxSecret = 16 << 10

func (s *secretFlag) read(cmd *cobra.Command) (string, error) {
	in, ok := cmd.InOrStdin().(*os.File)
	switch {
	case s.file == "-":
		return readUpTo(cmd.InOrStdin())
	case s.file != "":
		file, err := os.Open(s.file)
		if err != nil {
			return "", fmt.Errorf("the file of the %s: %w", s.flag(), err)
		}
		defer file.Close()
		return readUpTo(file)
	case !ok || !term.IsTerminal(int(in.Fd())):
		return "", usagef("say with --%s where the %s stands, - for standard input", s.option(), s.flag())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: ", s.label)
	value, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(cmd.ErrOrStderr())
	return string(value), err
}

func readUpTo(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSecret+1))
	if err == nil && len(text) > maxSecret {
		return "", usagef("that is too long for a secret")
	}
	return string(text), err
}
