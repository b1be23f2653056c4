package slack

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"holm/internal/caught"
)

const (
	// largest is the most bytes one frame may have.
	largest = 4 << 20
	// pingLimit is how long Slack may send no ping before the socket counts as
	// dead.
	pingLimit = 30 * time.Second
	// frameBuffer keeps an acknowledgement in one frame; Slack drops those in
	// several (reported by slack-go).
	frameBuffer = 32 << 10
)

// session is one socket from its opening to its end. slack-go would open the
// next one by itself, and without a limit on its wait: a session stops it there
// and leaves that to Run.
type session struct {
	channel *Channel
	keeper  *keeper
	client  *socketmode.Client
}

func newSession(c *Channel, k *keeper) *session {
	return &session{
		channel: c,
		keeper:  k,
		client: socketmode.New(c.api,
			socketmode.OptionDialer(c.dialer()),
			socketmode.OptionReadLimit(largest),
			socketmode.OptionPingInterval(c.pingLimit)),
	}
}

// dialer notes all that Slack sends, pings too, as a sign of life.
func (c *Channel) dialer() *websocket.Dialer {
	var dialer net.Dialer
	return &websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		HandshakeTimeout: callTimeout,
		WriteBufferSize:  frameBuffer,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return heard{Conn: conn, link: &c.link}, nil
		},
	}
}

type heard struct {
	net.Conn
	link *link
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.link.alive()
	}
	return n, err
}

// serve runs the socket until it ends; it returns nil when there was one and
// it is over. slack-go reports all that came through a socket before it begins
// the next, so nothing received is left behind.
func (s *session) serve(ctx context.Context) error {
	socket, hangUp := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := caught.Do(s.channel.log, "slack socket", func() (struct{}, error) { return struct{}{}, s.client.RunContext(socket) })
		ended <- err
	}()
	err := s.events(socket, ended)
	hangUp()
	<-ended
	return err
}

// events handles what slack-go reports until the socket is over.
func (s *session) events(socket context.Context, ended chan error) error {
	for {
		select {
		case ev := <-s.client.Events:
			if over, err := s.handle(socket, ev); over {
				return err
			}
		case err := <-ended:
			ended <- err
			return s.channel.failure("apps.connections.open", err)
		}
	}
}

func (s *session) handle(socket context.Context, ev socketmode.Event) (over bool, err error) {
	switch data := ev.Data.(type) {
	case *slackgo.ConnectingEvent:
		return data.ConnectionCount > 0, nil
	case *slackgo.ConnectionErrorEvent:
		return true, s.channel.failure("apps.connections.open", data.ErrorObj)
	}
	if ev.Type == socketmode.EventTypeHello {
		s.channel.link.hello()
		return false, nil
	}
	s.receive(socket, ev)
	return false, nil
}

// receive has an envelope stored and acknowledges it after that. An
// acknowledgement that finds the socket closed is no loss: Slack sends the
// event again, and storing it again does nothing.
func (s *session) receive(socket context.Context, ev socketmode.Event) {
	e, ok := envelopeOf(ev)
	if !ok {
		return
	}
	s.channel.link.delivered()
	s.keeper.keep(e, func(payload any) { _ = s.client.AckCtx(socket, e.envelopeID, payload) })
}
