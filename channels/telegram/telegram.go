// Package telegram is the channel to Telegram: it lays cards out as messages
// with inline keyboards, receives taps and texts by long polling or as a
// webhook, and turns Telegram's refusals into the few failures the bot knows. What a card says and
// what a tap means belongs to bot; nothing here decides anything.
//
// Limits and rules are those of core.telegram.org/bots/api.
package telegram

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	tg "github.com/go-telegram/bot"

	"holm/bot"
)

const (
	namespace  = "telegram"
	defaultURL = "https://api.telegram.org"

	maxText    = 4096 // characters of a message as seen
	maxCaption = 1024 // characters of a caption as seen
	maxAnswer  = 200  // characters of the answer to a tap
	maxData    = 64   // bytes of a button's data
	maxRow     = 8    // buttons that apps show in one row; reported, not documented
	maxUpload  = 50 << 20
)

// Config is what New needs.
type Config struct {
	// Token is the bot's token from @BotFather.
	Token string
	// APIURL is the Bot API server, default https://api.telegram.org.
	APIURL string
	// Webhook is the address at which Telegram can call bot.Webhook, also when
	// it does not: by it a webhook of our own is known. Optional when polling.
	Webhook string
	// Secret proves that a call is Telegram's: 1 to 256 of A-Z a-z 0-9 _ -. With
	// it the channel is called at Webhook; empty means that it polls.
	Secret string
	// Menu is the menu of commands that apps show in the direct chat.
	Menu []bot.MenuEntry
	// HTTPClient gives transport and cookies for all calls, default a client of
	// its own. Its Timeout is not used: each call has its own deadline.
	HTTPClient *http.Client
	// Logger gets connection trouble; default slog.Default().
	Logger *slog.Logger
	// Lock makes this process the only poller of the token: it blocks until it
	// is this process's turn and returns the release. After a conflict the lock
	// is given back and taken again, so that a lock lost unnoticed heals. Nil
	// means that nobody else polls.
	Lock func(ctx context.Context) (release func(), err error)
}

// Channel is the connection of one bot account. Make it with New.
type Channel struct {
	token  string
	url    string
	http   *http.Client
	client *tg.Bot
	log    *slog.Logger
	lock   func(context.Context) (func(), error)
	menu   []bot.MenuEntry

	webhook, secret string

	pace   *pacer
	pauses pauses
	state  state
}

var (
	_ bot.Channel    = (*Channel)(nil)
	_ bot.Linker     = (*Channel)(nil)
	_ bot.FileSender = (*Channel)(nil)
	_ bot.Quoter     = (*Channel)(nil)
	_ bot.Typer      = (*Channel)(nil)
	_ bot.Asker      = (*Channel)(nil)
	_ bot.Webhook    = (*Channel)(nil)
)

// tokenForm is what @BotFather gives out: the bot's user id and a secret.
var tokenForm = regexp.MustCompile(`^[0-9]{1,18}:[A-Za-z0-9_-]{3,}$`)

// secretForm is what setWebhook takes as secret_token.
var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// New checks the settings; it does not call Telegram. Run does, and is where a
// refused token shows.
func New(c Config) (*Channel, error) {
	if !tokenForm.MatchString(c.Token) {
		return nil, fmt.Errorf("%w: the Telegram token must look like 123456:ABC-DEF, as @BotFather gives it", bot.ErrSetup)
	}
	address := strings.TrimRight(cmp.Or(c.APIURL, defaultURL), "/")
	if u, err := url.Parse(address); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("%w: the Telegram API address must be an http or https URL", bot.ErrSetup)
	}
	if c.Secret != "" && (!secretForm.MatchString(c.Secret) || c.Webhook == "") {
		return nil, fmt.Errorf("%w: a webhook needs an address, and a secret of 1 to 256 letters, digits, _ and -", bot.ErrSetup)
	}
	ch := &Channel{
		webhook: c.Webhook, secret: c.Secret, menu: c.Menu,
		token: c.Token, url: address, http: httpClient(c.HTTPClient),
		log: cmp.Or(c.Logger, slog.Default()), lock: c.Lock,
		pace: newPacer(), pauses: defaultPauses,
	}
	var err error
	ch.client, err = tg.New(c.Token, tg.WithSkipGetMe(), tg.WithServerURL(address),
		tg.WithHTTPClient(pollTime, boundedClient{ch.http}), tg.WithErrorsHandler(ch.logClientError))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", bot.ErrSetup, ch.redact(err))
	}
	return ch, nil
}

// Namespace implements bot.Channel.
func (c *Channel) Namespace() string { return namespace }

// Limits implements bot.Channel. The total keeps a margin below 4096 for words
// that a longer platform text or a later outcome line adds; rows of three stay
// readable on a phone.
func (c *Channel) Limits() bot.Limits {
	return bot.Limits{Value: 600, Total: 3800, ButtonRow: 3}
}

// MaxListed implements bot.Lister.
func (c *Channel) MaxListed() int { return 20 }
