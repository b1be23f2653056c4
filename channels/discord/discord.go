// Package discord is Holm's connection to Discord: it receives through a
// gateway socket, lays cards out as messages with an embed and buttons, and
// turns Discord's refusals into the few failures the bot knows. What a card
// says, what a tap means and who may decide belong to package bot and inward
// of it.
//
// Types of the wire are those of discordgo. Its client is not used. The gateway
// part counts an event as received before its handler ran, so that one which
// could not be stored is never resumed, tries a refused token for ever and
// sleeps through the end of its context; the REST part keeps a bucket for each
// interaction it ever answered, sleeps while it holds one, and reads the
// addresses of Discord from variables that all sessions of a process share.
//
// Limits and rules are those of docs.discord.com/developers.
package discord

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"holm/bot"
)

const (
	namespace     = "discord"
	defaultAPIURL = "https://discord.com/api/v10"
	apiVersion    = "10"
	// callTimeout bounds one call, answer included.
	callTimeout = 20 * time.Second
)

// Config is what one Discord application needs.
type Config struct {
	// Token is the bot's token, without the word "Bot".
	Token string
	// APIURL is the base of the REST API with its version, default
	// https://discord.com/api/v10.
	APIURL string
	// HTTPClient gives transport and cookies for REST calls, default a client of
	// this channel's own. Redirects are not followed: they would take the token
	// along.
	HTTPClient *http.Client
	// Logger receives connection trouble; slog.Default() when nil.
	Logger *slog.Logger
}

// Channel is one Discord bot. Its methods may be called concurrently; Run at
// most once at a time.
type Channel struct {
	token  string
	id     string // of the bot's own user
	url    string
	http   *http.Client
	dialer *websocket.Dialer
	log    *slog.Logger

	pace   *pacer
	direct *chats
	link   link
	pauses pauses

	// taps are the interactions that wait for their first answer; see keep.
	taps sync.Map
	// commanded tells that /holm is registered.
	commanded sync.Once
}

var (
	_ bot.Channel    = (*Channel)(nil)
	_ bot.Linker     = (*Channel)(nil)
	_ bot.FileSender = (*Channel)(nil)
	_ bot.Lister     = (*Channel)(nil)
	_ bot.Asker      = (*Channel)(nil)
)

// New checks cfg and returns the channel; it does no I/O. What cannot work is a
// bot.ErrSetup.
func New(cfg Config) (*Channel, error) {
	id, ok := ownID(cfg.Token)
	if !ok {
		return nil, fmt.Errorf("discord: %w: the token must have three parts with dots between, as the page Bot of the Developer Portal gives it", bot.ErrSetup)
	}
	address := strings.TrimRight(cmp.Or(cfg.APIURL, defaultAPIURL), "/")
	if u, err := url.Parse(address); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("discord: %w: the API address must be an http or https URL", bot.ErrSetup)
	}
	return &Channel{
		token: cfg.Token, id: id, url: address, http: httpClient(cfg.HTTPClient),
		dialer: &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: callTimeout},
		log:    cmp.Or(cfg.Logger, slog.Default()),
		pace:   newPacer(), direct: newChats(), pauses: defaultPauses,
	}, nil
}

var (
	tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	// snowflake is the form of all ids.
	snowflake = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)
)

// ownID is the bot's user id, the first part of its token. Decode, which may ask
// nobody, needs it to tell a mention of the bot from others.
func ownID(token string) (id string, ok bool) {
	if !tokenForm.MatchString(token) {
		return "", false
	}
	first, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	return string(text), err == nil && snowflake.Match(text)
}

// httpClient is a copy of given, or a client of our own, that follows no
// redirects.
func httpClient(given *http.Client) *http.Client {
	client := &http.Client{Timeout: callTimeout}
	if given != nil {
		*client = *given
	} else {
		client.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// Namespace is "discord".
func (c *Channel) Namespace() string { return namespace }

// Limits keep whole what the renderer takes for whole, or it would offer an
// approval of arguments that are cut here: each character may have to be escaped
// and so count twice, and a name takes more around it than the renderer reckons.
func (c *Channel) Limits() bot.Limits {
	return bot.Limits{Value: 600, Total: maxDescription * 2 / 5, ButtonRow: maxRow}
}

// MaxListed implements bot.Lister: as many lines as a card has room for.
func (c *Channel) MaxListed() int { return 12 }

// LinkFor opens the bot's page, from where one writes to it: no address of
// Discord hands a text over.
func (c *Channel) LinkFor(_ context.Context, token string) (link, hint string) {
	return "https://discord.com/users/" + c.id, "send the bot a direct message: link " + token
}

// user checks an identity: the id of a Discord user.
func user(identity string) (string, error) {
	if !snowflake.MatchString(identity) {
		return "", fmt.Errorf("discord: an identity that is no user id: %w", bot.ErrUnreachable)
	}
	return identity, nil
}

// pauses are the waits that a test shortens.
type pauses struct {
	// first and long are the shortest and the longest wait before a socket is
	// opened again.
	first, long time.Duration
	// again is the least wait before a new session: Discord takes one in five
	// seconds.
	again time.Duration
	// ack is how long a tap waits for its true answer before it gets a
	// provisional one; Discord gives up after three seconds.
	ack time.Duration
}

var defaultPauses = pauses{first: 250 * time.Millisecond, long: 30 * time.Second, again: 5 * time.Second, ack: 1500 * time.Millisecond}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errNoEvent = errors.New("discord: an event without the address to answer to")
