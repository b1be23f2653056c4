package channels

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holm/bot"
)

// secretsOf are, by platform, the names of its secrets and where they go.
var secretsOf = map[string]map[string]func(*Config) *string{
	"discord":  {"token": func(c *Config) *string { return &c.DiscordToken }},
	"telegram": {"token": func(c *Config) *string { return &c.TelegramToken }},
	"slack": {
		"bot_token":      func(c *Config) *string { return &c.SlackBotToken },
		"app_token":      func(c *Config) *string { return &c.SlackAppToken },
		"signing_secret": func(c *Config) *string { return &c.SlackSigningSecret },
	},
}

// Platforms are those of Holm's own channels.
func Platforms() []string { return slices.Sorted(maps.Keys(constructors)) }

// With sets up one platform with the given secrets in place of all that c sets
// up: addresses, log and lock stay. What cannot work is a bot.ErrSetup.
func (c Config) With(namespace string, secrets map[string]string) (Config, error) {
	for _, names := range secretsOf {
		for _, at := range names {
			*at(&c) = ""
		}
	}
	known := secretsOf[namespace]
	if known == nil {
		return c, fmt.Errorf("%w: %q is no platform of Holm's own; there are %s", bot.ErrSetup, namespace, strings.Join(Platforms(), ", "))
	}
	for name, value := range secrets {
		at := known[name]
		if at == nil {
			return c, fmt.Errorf("%w: %s has no secret %q", bot.ErrSetup, namespace, name)
		}
		*at(&c) = value
	}
	return c, nil
}
