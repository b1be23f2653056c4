// Package slack is Holm's connection to one Slack workspace: it receives
// through Socket Mode or signed HTTP, lays cards out as Block Kit messages in direct messages
// and turns Slack's payloads into events. What a card says, what a tap means
// and who may decide belong to package bot and inward of it.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"
	"golang.org/x/time/rate"

	"holm/bot"
)

const (
	namespace     = "slack"
	defaultAPIURL = "https://slack.com/api/"
	// callTimeout bounds one call of the Web API, answer included.
	callTimeout = 20 * time.Second
	// remembered is how many direct chats and how many pacers are kept.
	remembered = 4096
)

// Config is what one Slack app needs: the bot token, and the app-level token
// or, when Slack calls by HTTP, the signing secret.
type Config struct {
	// BotToken ("xoxb-…") sends messages; its scopes are those of
	// docs/slack-manifest.yaml.
	BotToken string
	// AppToken ("xapp-…") opens the socket; it needs connections:write.
	AppToken string
	// Events makes Slack call by HTTP (see ServeWebhook) in place of a socket.
	Events bool
	// SigningSecret proves that calls are Slack's; needed with Events.
	SigningSecret string
	// APIURL is the base of the Web API, https://slack.com/api/ when empty. A
	// missing slash at its end is added.
	APIURL string
	// HTTPClient carries Web API calls. The default is a client of this
	// channel's own with a time-out of 20 s.
	HTTPClient *http.Client
	// Logger receives connection problems; slog.Default() when nil.
	Logger *slog.Logger
}

// Channel is one Slack app in one workspace. Its methods may be called
// concurrently; Run at most once at a time.
type Channel struct {
	api       *slackgo.Client
	http      *http.Client
	log       *slog.Logger
	events    bool
	signing   string
	secrets   []string
	direct    *recent[string]
	names     *recent[string]
	pacers    *recent[*rate.Limiter]
	closed    *recent[time.Time] // until when Slack takes no calls, by limited
	link      link
	pingLimit time.Duration
	account   atomic.Pointer[slackgo.AuthTestResponse]
}

var (
	_ bot.Channel    = (*Channel)(nil)
	_ bot.Linker     = (*Channel)(nil)
	_ bot.Webhook    = (*Channel)(nil)
	_ bot.FileSender = (*Channel)(nil)
	_ bot.Asker      = (*Channel)(nil)
	_ bot.Reviewer   = (*Channel)(nil)
	_ bot.Home       = (*Channel)(nil)
	_ bot.Namer      = (*Channel)(nil)
)

// New checks cfg and returns the channel; it does no I/O. Tokens that are
// missing or swapped are a bot.ErrSetup.
func New(cfg Config) (*Channel, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("slack: %w: %w", bot.ErrSetup, err)
	}
	client := cfg.HTTPClient
	if client == nil {
		client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: callTimeout}
	}
	return &Channel{
		api: slackgo.New(cfg.BotToken,
			slackgo.OptionAppLevelToken(cfg.AppToken),
			slackgo.OptionAPIURL(baseURL(cfg.APIURL)),
			slackgo.OptionHTTPClient(client)),
		http:      client,
		log:       cmp.Or(cfg.Logger, slog.Default()),
		events:    cfg.Events,
		signing:   cfg.SigningSecret,
		secrets:   slices.DeleteFunc([]string{cfg.BotToken, cfg.AppToken, cfg.SigningSecret}, func(s string) bool { return s == "" }),
		direct:    newRecent[string](remembered),
		names:     newRecent[string](remembered),
		pacers:    newRecent[*rate.Limiter](2 * remembered),
		closed:    newRecent[time.Time](remembered),
		pingLimit: pingLimit,
		link:      link{steady: cfg.Events},
	}, nil
}

func (cfg Config) check() error {
	switch {
	case cfg.BotToken == "":
		return errors.New("the bot token is missing")
	case strings.HasPrefix(cfg.BotToken, "xapp-"):
		return errors.New("the bot token is an app-level token (xapp-)")
	case cfg.Events && cfg.SigningSecret == "":
		return errors.New("the signing secret is missing")
	case !cfg.Events && cfg.AppToken == "":
		return errors.New("the app-level token is missing")
	case !cfg.Events && !strings.HasPrefix(cfg.AppToken, "xapp-"):
		return errors.New("the app-level token does not begin with xapp-")
	}
	u, err := url.Parse(baseURL(cfg.APIURL))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("the API address is not an http or https URL")
	}
	return nil
}

// baseURL ends in a slash, as slack-go glues method names to it.
func baseURL(s string) string {
	return strings.TrimSuffix(cmp.Or(s, defaultAPIURL), "/") + "/"
}

// Namespace is "slack".
func (c *Channel) Namespace() string { return namespace }

// Limits are what a card may carry without being cut here once more; text full
// of &, < and > counts for more than its characters and may still be.
func (c *Channel) Limits() bot.Limits {
	return bot.Limits{Value: valueBudget, Total: argsBudget - 500, ButtonRow: 5}
}

// MaxListed implements bot.Lister.
func (c *Channel) MaxListed() int { return 20 }

// LinkFor names no address: Slack has none that hands a text to a bot. People
// send the token themselves.
func (c *Channel) LinkFor(_ context.Context, token string) (link, hint string) {
	return "", "send the bot a direct message: link " + token
}

// whoami is whose token this is; Slack is asked the first time only.
func (c *Channel) whoami(ctx context.Context) (*slackgo.AuthTestResponse, error) {
	if who := c.account.Load(); who != nil {
		return who, nil
	}
	return c.authenticate(ctx)
}

// authenticate asks Slack anew, so a token revoked since is noticed.
func (c *Channel) authenticate(ctx context.Context) (*slackgo.AuthTestResponse, error) {
	who, err := c.api.AuthTestContext(ctx)
	if err != nil {
		return nil, c.failure("auth.test", err)
	}
	c.account.Store(who)
	c.link.known(who.User)
	return who, nil
}
