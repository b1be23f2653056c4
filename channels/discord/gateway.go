package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// settled is how long a socket must have lived for its end to be ordinary.
const settled = 10 * time.Second

// session is what the next socket goes on with. It is lost with the process:
// what Discord sent between two sessions does not come again.
type session struct {
	id, resume string
	// seq is the last event that is dealt with: stored, if it is to be.
	seq int64
}

// errNewSession asks for a session of its own in place of one to resume.
var errNewSession = errors.New("discord: the session is over")

// Run keeps one socket open until ctx ends and stores all it brings. The next
// socket resumes where the last one ended, also after an event that could not be
// stored: Discord then sends it again. Where Discord has forgotten the session,
// a new one begins, and what happened in between is lost: taps show their
// persons that they failed, messages stay in the chat unanswered.
// It returns an error only when Discord refuses the token or the intents
// (bot.ErrSetup).
func (c *Channel) Run(ctx context.Context, in bot.Inbox) error {
	defer c.http.CloseIdleConnections()
	k := newKeeper(ctx, c, in)
	defer k.wait()
	var s session
	failures := 0
	for {
		began := time.Now()
		err := c.connect(ctx, k, &s)
		if ctx.Err() != nil {
			c.link.down(nil)
			return nil
		}
		c.link.down(err)
		if errors.Is(err, bot.ErrSetup) {
			return fmt.Errorf("receive from discord: %w", err)
		}
		failures++
		if time.Since(began) > settled {
			failures = 0
		}
		if err != nil {
			c.log.Warn("discord connection ended", "error", err)
		}
		if pause(ctx, c.waitAfter(failures, err)) != nil {
			c.link.down(nil)
			return nil
		}
	}
}

// waitAfter doubles with each failure in a row, with a random part so that
// replicas do not return together. A rate limit is obeyed, and the pace of new
// sessions.
func (c *Channel) waitAfter(failures int, err error) time.Duration {
	wait := min(c.pauses.first<<min(failures, 10), c.pauses.long)
	wait = wait/2 + rand.N(wait/2+1)
	if errors.Is(err, errNewSession) {
		wait = max(wait, c.pauses.again+rand.N(c.pauses.first+1))
	}
	if limited, ok := errors.AsType[*bot.RetryError](err); ok {
		wait = max(wait, limited.After)
	}
	return wait
}

// connect opens one socket for s and serves it until it ends. It returns nil
// when Discord asked for another one.
func (c *Channel) connect(ctx context.Context, k *keeper, s *session) error {
	address, err := c.address(ctx, s)
	if err != nil {
		return err
	}
	dial, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, resp, err := c.dialer.DialContext(dial, address, nil)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		s.resume = "" // it may be this address that is gone, and not the session
		return c.unanswered("open the gateway", err)
	}
	return newSocket(c, k, conn, s).serve(ctx)
}

// address is where a socket for s is opened.
func (c *Channel) address(ctx context.Context, s *session) (string, error) {
	if s.id != "" && s.resume != "" {
		return c.gatewayURL(s.resume)
	}
	var gateway discordgo.GatewayBotResponse
	err := c.do(ctx, call{doing: "find the gateway", method: http.MethodGet, path: "/gateway/bot", route: "gateway", urgent: true}, &gateway)
	if err != nil {
		return "", err
	}
	starts := gateway.SessionStartLimit
	if s.id == "" && starts.Total > 0 && starts.Remaining <= 0 { // one more and Discord takes the token away
		after := time.Duration(max(starts.ResetAfter, 1000)) * time.Millisecond
		return "", &bot.RetryError{After: after, Err: errors.New("discord: too many sessions were begun today")}
	}
	return c.gatewayURL(gateway.URL)
}

// gatewayURL checks an address that Discord named: the token is sent there, so
// it must be as safe as the API's own.
func (c *Channel) gatewayURL(address string) (string, error) {
	u, err := url.Parse(address)
	api, _ := url.Parse(c.url)
	if err != nil || u.Host == "" || (u.Scheme != "wss" && (u.Scheme != "ws" || api.Scheme != "http")) {
		return "", errors.New("discord: find the gateway: no address in the answer")
	}
	u.RawQuery = url.Values{"v": {apiVersion}, "encoding": {"json"}}.Encode()
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}
