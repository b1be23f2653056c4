// Package channels opens the built-in channels that the settings name. Each
// platform lives in a folder of its own; this is the one place that lists them.
package channels

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"holm/bot"
	"holm/channels/discord"
	"holm/channels/slack"
	"holm/channels/telegram"
)

// Config is what the channels are set up with. A channel whose tokens are all
// empty is not opened.
type Config struct {
	// TelegramToken is the bot's token from @BotFather.
	TelegramToken string
	// TelegramWebhook is where Telegram can call; TelegramSecret, by which it
	// proves that it does, is empty when updates are polled.
	TelegramWebhook, TelegramSecret string
	// TelegramAPIURL is the Bot API server; empty for Telegram's own.
	TelegramAPIURL string
	// SlackBotToken (xoxb-…) belongs with SlackAppToken (xapp-…) or, where Slack
	// calls by HTTP, with SlackEvents and SlackSigningSecret.
	SlackBotToken, SlackAppToken string
	SlackEvents                  bool
	SlackSigningSecret           string
	// SlackAPIURL is the base of Slack's Web API; empty for Slack's own.
	SlackAPIURL string
	// DiscordToken is the bot's token from the Developer Portal; DiscordAPIURL is
	// the base of the REST API with its version, empty for Discord's own.
	DiscordToken, DiscordAPIURL string
	// Log gets connection trouble; default slog.Default().
	Log *slog.Logger
	// Lock makes this process the only one that polls a token; see
	// telegram.Config. Nil means that there is no other.
	Lock func(ctx context.Context) (release func(), err error)
}

// constructors make each channel, or nil when it is not set up.
var constructors = map[string]func(Config) (bot.Channel, error){
	"discord":  openDiscord,
	"slack":    openSlack,
	"telegram": openTelegram,
}

// Open makes the channels that c sets up, ordered by namespace. It does no I/O;
// a setting that cannot work is a bot.ErrSetup.
func Open(c Config) ([]bot.Channel, error) {
	var open []bot.Channel
	for _, namespace := range slices.Sorted(maps.Keys(constructors)) {
		ch, err := constructors[namespace](c)
		if err != nil {
			return nil, fmt.Errorf("open channel %s: %w", namespace, err)
		}
		if ch != nil {
			open = append(open, ch)
		}
	}
	return open, nil
}

func openDiscord(c Config) (bot.Channel, error) {
	if c.DiscordToken == "" {
		return nil, nil
	}
	return made(discord.New(discord.Config{Token: c.DiscordToken, APIURL: c.DiscordAPIURL, Logger: c.Log}))
}

func openTelegram(c Config) (bot.Channel, error) {
	if c.TelegramToken == "" {
		return nil, nil
	}
	return made(telegram.New(telegram.Config{
		Token: c.TelegramToken, APIURL: c.TelegramAPIURL, Webhook: c.TelegramWebhook, Secret: c.TelegramSecret,
		Menu: bot.Menu(), Logger: c.Log, Lock: c.Lock,
	}))
}

func openSlack(c Config) (bot.Channel, error) {
	if c.SlackBotToken == "" && c.SlackAppToken == "" && c.SlackSigningSecret == "" {
		return nil, nil
	}
	return made(slack.New(slack.Config{
		BotToken: c.SlackBotToken, AppToken: c.SlackAppToken, Events: c.SlackEvents, SigningSecret: c.SlackSigningSecret,
		APIURL: c.SlackAPIURL, Logger: c.Log,
	}))
}

// made keeps a nil pointer of a failed constructor from becoming a channel.
func made[C bot.Channel](ch C, err error) (bot.Channel, error) {
	if err != nil {
		return nil, err
	}
	return ch, nil
}
