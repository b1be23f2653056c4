// Package remote is the channel to an adapter that runs outside this program,
// in any language: cards go to its address as signed JSON, taps come back over
// REST with the channel's token, the tapper's id in x-channel-user-id, and the
// button's token. docs/channel-adapters.md is the contract for its authors.
package remote

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"holm/bot"
)

// SignatureHeader proves to the adapter that a message is Holm's: "t=" and the
// Unix time, ",v1=" and the hexadecimal HMAC-SHA256, under the channel's
// signing secret, of the time, a dot and the body.
const SignatureHeader = "Holm-Signature"

const (
	// timeout bounds one delivery.
	timeout = 20 * time.Second
	// maxAnswer bounds what is read of an adapter's answer, in bytes.
	maxAnswer = 64 << 10
	// defaultRetry is the pause after a 429 that names none.
	defaultRetry = 5 * time.Second
	// longestRetry bounds the pause that an adapter may ask for, in seconds.
	longestRetry = 3600
)

// Config is one registered adapter; all fields but Lists are required.
type Config struct {
	Namespace string
	// URL takes the messages, by POST.
	URL string
	// Secret signs them.
	Secret []byte
	// Lists is how many requests one message lists, 0 for a card each.
	Lists int
}

// Channel is one adapter.
type Channel struct {
	Config
	client *http.Client
}

var _ bot.Channel = (*Channel)(nil)

// New makes the channel; it does no I/O.
func New(c Config) *Channel {
	return &Channel{Config: c, client: &http.Client{
		Timeout: timeout,
		// A redirect would carry the card to an address nobody registered.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Open makes the channel as New does, as a bot.Lister where it lists requests.
func Open(c Config) bot.Channel {
	if c.Lists > 0 {
		return lister{New(c)}
	}
	return New(c)
}

type lister struct{ *Channel }

// MaxListed implements bot.Lister.
func (l lister) MaxListed() int { return l.Lists }

// message is what the adapter gets.
type message struct {
	// Type is "send" for a new message and "update" for the edit of one.
	Type string `json:"type"`
	// To is the identity, within the channel's namespace, to send to.
	To string `json:"to,omitempty"`
	// Message is what the adapter answered when it sent it.
	Message *bot.MessageRef `json:"message,omitempty"`
	Card    card            `json:"card"`
}

type card struct {
	Head    string     `json:"head"`
	Facts   []fact     `json:"facts,omitempty"`
	Args    []arg      `json:"args,omitempty"`
	Notes   []string   `json:"notes,omitempty"`
	Buttons [][]button `json:"buttons,omitempty"`
	Silent  bool       `json:"silent,omitempty"`
	// Whole tells that the buttons that approve rest on all Args being shown.
	Whole bool `json:"whole,omitempty"`
}

type fact struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

type arg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Cut is how many characters of the value were left out.
	Cut int `json:"cut,omitempty"`
}

type button struct {
	Label string `json:"label"`
	Token string `json:"token"`
	Style string `json:"style,omitempty"`
	// Approves tells that pressing it approves.
	Approves bool `json:"approves,omitempty"`
}

// Namespace implements bot.Channel.
func (c *Channel) Namespace() string { return c.Config.Namespace }

// Limits implements bot.Channel: adapters cut for themselves, truthfully.
func (c *Channel) Limits() bot.Limits { return bot.Limits{Value: 2000, Total: 12_000, ButtonRow: 5} }

// Health implements bot.Channel. There is no connection to speak of; what
// failed stands at each delivery.
func (c *Channel) Health() bot.Health { return bot.Health{Connected: true, Account: c.URL} }

// Send implements bot.Channel.
func (c *Channel) Send(ctx context.Context, to bot.Recipient, m bot.Card) (bot.MessageRef, error) {
	answer, err := c.post(ctx, message{Type: "send", To: to.Identity, Card: cardOf(m)})
	if err != nil {
		return bot.MessageRef{}, err
	}
	var ref bot.MessageRef
	if err := json.Unmarshal(answer, &ref); err != nil || ref.Message == "" {
		return bot.MessageRef{}, fmt.Errorf("channel %s: the adapter's answer names no message", c.Config.Namespace)
	}
	return ref, nil
}

// Update implements bot.Channel.
func (c *Channel) Update(ctx context.Context, ref bot.MessageRef, m bot.Card) error {
	_, err := c.post(ctx, message{Type: "update", Message: &ref, Card: cardOf(m)})
	if errors.Is(err, bot.ErrUnreachable) {
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	}
	return err
}

// Answer implements bot.Channel: the adapter tells its person what the REST
// call answered.
func (c *Channel) Answer(context.Context, bot.Event, string) error { return nil }

// Decode implements bot.Channel; nothing comes in this way.
func (c *Channel) Decode(json.RawMessage) (bot.Event, bool, error) { return bot.Event{}, false, nil }

// Run implements bot.Channel; there is nothing to receive.
func (c *Channel) Run(ctx context.Context, _ bot.Inbox) error {
	<-ctx.Done()
	return nil
}

func cardOf(m bot.Card) card {
	out := card{Head: bot.VisibleLine(m.Head), Notes: visible(m.Notes), Silent: m.Silent, Whole: m.Whole}
	for _, f := range m.Facts {
		out.Facts = append(out.Facts, fact{f.Label, bot.Visible(f.Value)})
	}
	for _, a := range m.Args {
		out.Args = append(out.Args, arg{bot.VisibleLine(a.Name), bot.Visible(a.Value), a.Cut})
	}
	for _, row := range m.Buttons {
		var buttons []button
		for _, b := range row {
			buttons = append(buttons, button{b.Label, b.Token, string(b.Style), b.Approves})
		}
		out.Buttons = append(out.Buttons, buttons)
	}
	return out
}

func visible(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, bot.Visible(line))
	}
	return out
}

func (c *Channel) post(ctx context.Context, m message) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("channel %s: encode: %w", c.Config.Namespace, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w: %w", c.Config.Namespace, bot.ErrSetup, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(SignatureHeader, Sign(c.Secret, time.Now(), body))
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("channel %s: the adapter does not answer: %w", c.Config.Namespace, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("channel %s: read the adapter's answer: %w", c.Config.Namespace, err)
	}
	return answer, c.failure(resp)
}

// failure turns the adapter's status into what the bot knows.
func (c *Channel) failure(resp *http.Response) error {
	// In our words, not in those of the adapter: they are stored.
	err := fmt.Errorf("channel %s: the adapter answered %d %s", c.Config.Namespace, resp.StatusCode, http.StatusText(resp.StatusCode))
	switch {
	case resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated:
		return nil
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: %w", bot.ErrUnreachable, err)
	case resp.StatusCode == http.StatusTooManyRequests:
		after := defaultRetry
		if seconds, parseErr := strconv.Atoi(resp.Header.Get("Retry-After")); parseErr == nil {
			after = time.Duration(min(max(seconds, 1), longestRetry)) * time.Second
		}
		return &bot.RetryError{After: after, Err: err}
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %w", bot.ErrSetup, err)
	}
	return err
}

// Sign makes the value of SignatureHeader.
func Sign(secret []byte, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
