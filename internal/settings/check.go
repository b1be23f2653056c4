package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"holm/internal/identity"
)

// minSecret is the shortest secret that is accepted; package secret wants the
// same of its key.
const minSecret = 16

// maxHold bounds HOLM_HOLD; a longer wait is what retries are for.
const maxHold = 10 * time.Minute

func (s Settings) check() error {
	for _, problem := range []*Error{
		checkListen(s.Listen),
		checkURL("HOLM_PUBLIC_URL", s.PublicURL),
		checkURL("HOLM_URL", s.URL),
		checkURL("HOLM_TELEGRAM_API_URL", s.Telegram.APIURL),
		checkURL("HOLM_SLACK_API_URL", s.Slack.APIURL),
		checkURL("HOLM_DISCORD_API_URL", s.Discord.APIURL),
		checkDatabaseURL(s.DatabaseURL),
		checkSecret("HOLM_ADMIN_TOKEN", s.AdminToken),
		checkSecret("HOLM_SECRET_KEY", s.SecretKey),
		checkAgent(s.Agent),
		checkHold(s.Hold),
		checkOpen("HOLM_MAX_OPEN_PER_SESSION", s.MaxOpenPerSession),
		checkOpen("HOLM_MAX_OPEN_PER_REQUESTER", s.MaxOpenPerRequester),
		s.Limits.check(),
		checkRealtime(s.Realtime),
		checkDigestWindow(s.DigestWindow),
		checkTimeZone(s.TimeZone),
		s.Telegram.check(s.PublicURL),
		s.Slack.check(),
	} {
		if problem != nil {
			return problem
		}
	}
	return nil
}

func checkListen(address string) *Error {
	_, port, err := net.SplitHostPort(address)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		return unusable("HOLM_LISTEN", "%q is not an address; want host:port, e.g. %s", address, DefaultListen)
	}
	return nil
}

func checkHold(d time.Duration) *Error {
	if d < 0 || d > maxHold {
		return unusable("HOLM_HOLD", "want a duration such as 45s, at most %s", maxHold)
	}
	return nil
}

// maxOpen bounds the caps on open requests: a person answers them.
const maxOpen = 10_000

func checkOpen(setting string, n int) *Error {
	if n < 1 || n > maxOpen {
		return unusable(setting, "want a number from 1 to %d", maxOpen)
	}
	return nil
}

func checkRealtime(d time.Duration) *Error {
	if d < 0 || d > maxHold {
		return unusable("HOLM_REALTIME", "want a duration such as 2m, at most %s, or 0s for off", maxHold)
	}
	return nil
}

// maxDigestWindow bounds HOLM_DIGEST_WINDOW: somebody waits for each card.
const maxDigestWindow = time.Minute

func checkDigestWindow(d time.Duration) *Error {
	if d < 0 || d > maxDigestWindow {
		return unusable("HOLM_DIGEST_WINDOW", "want a duration such as 2s, at most %s, or 0s for off", maxDigestWindow)
	}
	return nil
}

func checkTimeZone(name string) *Error {
	if _, err := time.LoadLocation(name); err != nil {
		return unusable("HOLM_TIME_ZONE", "want a name of a time zone such as Europe/Oslo")
	}
	return nil
}

func checkURL(setting, text string) *Error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return unusable(setting, "want an address that begins with http:// or https:// and names a host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return unusable(setting, "the address may not carry credentials, a query or a fragment")
	}
	return nil
}

// checkDatabaseURL leaves the details to package db; it refuses what db would
// take for a list of names and values.
func checkDatabaseURL(text string) *Error {
	if text == "" || strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return nil
	}
	return unusable("HOLM_DATABASE_URL", "want postgres://user:password@host:port/database")
}

func checkSecret(setting, value string) *Error {
	if value == "" {
		return nil
	}
	if len(value) < minSecret {
		return unusable(setting, "is shorter than %d characters", minSecret)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return unusable(setting, "contains spaces or control characters")
	}
	return nil
}

func checkAgent(name string) *Error {
	if !identity.ValidAgentName(name) {
		return unusable("HOLM_AGENT", "%q is not a name; want a letter, then letters, digits, - or _, at most 64", name)
	}
	return nil
}

// check wants an address that Telegram can call when it is to: its own server
// takes TLS on four ports alone, one's own server any address.
func (t Telegram) check(publicURL string) *Error {
	switch t.Mode {
	case TelegramPolling:
		return nil
	case TelegramWebhook:
	default:
		return unusable("HOLM_TELEGRAM_MODE", "%q is not a mode; want polling or webhook", t.Mode)
	}
	if t.Token == "" {
		return unusable("HOLM_TELEGRAM_TOKEN", "is missing: HOLM_TELEGRAM_MODE=webhook needs it")
	}
	if t.APIURL != "" {
		return nil
	}
	u, err := url.Parse(publicURL)
	if err != nil || u.Scheme != "https" || !slices.Contains(telegramPorts, u.Port()) {
		return unusable("HOLM_PUBLIC_URL", "HOLM_TELEGRAM_MODE=webhook needs an address that Telegram can call: https, on port 443, 80, 88 or 8443; without one use polling")
	}
	return nil
}

// telegramPorts are those that Telegram calls, core.telegram.org/bots/api#setwebhook.
var telegramPorts = []string{"", "443", "80", "88", "8443"}

// CheckMode refuses a mode that a channel on one of Holm's platforms, added
// beside s, cannot have. Empty is the usual one.
func CheckMode(platform, mode string, s Settings) error {
	var problem *Error
	switch {
	case mode == "":
	case platform == "telegram":
		problem = Telegram{Token: "its own", APIURL: s.Telegram.APIURL, Mode: mode}.check(s.PublicURL)
	case platform == "slack":
		problem = Slack{BotToken: "its own", AppToken: "its own", SigningSecret: "its own", Mode: mode}.check()
	default:
		return fmt.Errorf("%s has none", platform)
	}
	if problem != nil {
		return errors.New(problem.Message)
	}
	return nil
}

// check wants the bot token and what its mode needs; what belongs to the other
// mode may stay, so that one word changes the mode.
func (s Slack) check() *Error {
	needs, needed, prefix := "HOLM_SLACK_APP_TOKEN", s.AppToken, " (xapp-)"
	switch s.Mode {
	case SlackSocket:
	case SlackEvents:
		needs, needed, prefix = "HOLM_SLACK_SIGNING_SECRET", s.SigningSecret, ""
	default:
		return unusable("HOLM_SLACK_MODE", "%q is not a mode; want socket or events", s.Mode)
	}
	switch {
	case s.BotToken == "" && s.AppToken == "" && s.SigningSecret == "" && s.Mode == SlackSocket:
		return nil
	case s.BotToken == "":
		return unusable("HOLM_SLACK_BOT_TOKEN", "is missing: Slack needs a bot token (xoxb-) as well")
	case needed == "":
		return unusable(needs, "is missing: HOLM_SLACK_MODE=%s needs it%s", s.Mode, prefix)
	}
	return nil
}
