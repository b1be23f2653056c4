package main

import (
	"context"
	"encoding/hex"
	"errors"

	"holm/bot"
	"holm/channels"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/secret"
	"holm/internal/settings"
)

// platforms is what the channels of the settings are set up with.
func (a *app) platforms() channels.Config {
	s := a.settings
	return channels.Config{
		TelegramToken: s.Telegram.Token, TelegramAPIURL: s.Telegram.APIURL,
		TelegramWebhook: a.publicURL + bot.WebhookPath(s.Agent, "telegram"),
		TelegramSecret:  telegramSecret(a.keeper, s.Telegram.Mode, s.Telegram.Token),
		SlackBotToken:   s.Slack.BotToken, SlackAppToken: s.Slack.AppToken, SlackAPIURL: s.Slack.APIURL,
		SlackEvents: s.Slack.Mode == settings.SlackEvents, SlackSigningSecret: s.Slack.SigningSecret,
		DiscordToken: s.Discord.Token, DiscordAPIURL: s.Discord.APIURL,
		Log:  a.log,
		Lock: func(ctx context.Context) (func(), error) { return db.Exclusive(ctx, a.pool, "telegram poller") },
	}
}

// telegramSecret is what Telegram proves its calls with: alike in all processes,
// another for each bot, and empty unless it is to call.
func telegramSecret(keeper *secret.Keeper, mode, token string) string {
	if mode != settings.TelegramWebhook {
		return ""
	}
	return hex.EncodeToString(keeper.MAC("telegram webhook", token))
}

// storedChannels reads the channels that operators have added.
func (a *app) storedChannels(ctx context.Context) (all []bot.Stored, err error) {
	list, err := identity.OwnChannels(ctx, a.pool, a.keeper)
	for _, c := range list {
		all = append(all, bot.Stored{
			Namespace: c.Namespace, AgentID: c.AgentID, Version: c.Version,
			Open: func() (bot.Channel, error) { return a.openOwn(c) },
		})
	}
	return all, err
}

// openOwn makes a channel that was added; the platforms' addresses are those of
// the settings. It does no I/O.
func (a *app) openOwn(c identity.OwnChannel) (bot.Channel, error) {
	config, err := a.platforms().With(c.Namespace, c.Secrets)
	if err != nil {
		return nil, err
	}
	config.TelegramWebhook = a.publicURL + bot.WebhookPath(c.AgentID, "telegram")
	config.TelegramSecret = telegramSecret(a.keeper, c.Mode, config.TelegramToken)
	config.SlackEvents = c.Mode == settings.SlackEvents
	open, err := channels.Open(config)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, fault.Invalidf("the secrets of %s are missing", c.Namespace)
	}
	return open[0], nil
}

// checkOwn refuses a channel that could not work here: one that the settings
// name, a mode or secrets that do not fit.
func (a *app) checkOwn(c identity.OwnChannel) error {
	for _, known := range a.bot.States() {
		if known.Namespace == c.Namespace && !known.Stored {
			return fault.New(fault.Conflict, "set_by_settings", "channel %q is set up by the settings of holm serve", c.Namespace)
		}
	}
	if err := settings.CheckMode(c.Namespace, c.Mode, a.settings); err != nil {
		return fault.Invalidf("mode: %v", err)
	}
	_, err := a.openOwn(c)
	if errors.Is(err, bot.ErrSetup) {
		return fault.Invalidf("%v", err)
	}
	return err
}
