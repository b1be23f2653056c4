package channels_test

import (
	"errors"
	"slices"
	"testing"

	"holm/bot"
	"holm/channels"
)

const (
	telegramToken = "123456:AAbbccdd"
	discordToken  = "OTAwMDAwMDAwMDAwMDAwMDAx.Gabcde.secret"
)

func TestOpenMakesWhatIsSetUp(t *testing.T) {
	for name, c := range map[string]struct {
		config channels.Config
		want   []string
	}{
		"nothing":  {channels.Config{}, nil},
		"telegram": {channels.Config{TelegramToken: telegramToken}, []string{"telegram"}},
		"slack":    {channels.Config{SlackBotToken: "xoxb-1", SlackAppToken: "xapp-1"}, []string{"slack"}},
		"discord":  {channels.Config{DiscordToken: discordToken}, []string{"discord"}},
		"all": {
			channels.Config{TelegramToken: telegramToken, SlackBotToken: "xoxb-1", SlackAppToken: "xapp-1", DiscordToken: discordToken},
			[]string{"discord", "slack", "telegram"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			open, err := channels.Open(c.config)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ch := range open {
				got = append(got, ch.Namespace())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("opened %v, want %v", got, c.want)
			}
		})
	}
}

func TestOpenRefusesSettingsThatCannotWork(t *testing.T) {
	for name, c := range map[string]channels.Config{
		"telegram token":  {TelegramToken: "nonsense"},
		"telegram server": {TelegramToken: telegramToken, TelegramAPIURL: "ftp://x"},
		"discord token":   {DiscordToken: "nonsense"},
		"discord server":  {DiscordToken: discordToken, DiscordAPIURL: "ftp://x"},
		"half of slack":   {SlackBotToken: "xoxb-1"},
		"slack server":    {SlackBotToken: "xoxb-1", SlackAppToken: "xapp-1", SlackAPIURL: "::"},
	} {
		t.Run(name, func(t *testing.T) {
			if open, err := channels.Open(c); !errors.Is(err, bot.ErrSetup) || open != nil {
				t.Errorf("opened %v, %v", open, err)
			}
		})
	}
}
