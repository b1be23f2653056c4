package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"holm/bot"
	"holm/internal/caught"
)

const (
	// largest is the most bytes one frame may have; the first tells all servers
	// the bot is in.
	largest = 16 << 20
	// greeting is how long the gateway may take to say hello, and then to take
	// the session, what it sends again included.
	greeting = time.Minute
	// writeLimit bounds one write.
	writeLimit = 10 * time.Second
	// resumable is a close code of our own that keeps the session; 1000 ends it.
	resumable = 4000
)

// Operations of the gateway (docs.discord.com/developers/topics/opcodes-and-status-codes).
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// intents are what Holm is told of: direct messages, and messages in servers, of
// which it sees the text where it is mentioned. That needs no privilege.
const intents = discordgo.IntentDirectMessages | discordgo.IntentGuildMessages

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// socket is one connection to the gateway.
type socket struct {
	channel *Channel
	keeper  *keeper
	conn    *websocket.Conn
	session *session

	writes sync.Mutex
	seq    atomic.Int64 // session.seq, for heartbeats
	heard  atomic.Bool  // the last heartbeat was answered
	deaf   atomic.Bool  // one was not, and the socket closed for that
}

func newSocket(c *Channel, k *keeper, conn *websocket.Conn, s *session) *socket {
	conn.SetReadLimit(largest)
	// Left to itself the library answers a close with the same code, and 1000 or
	// 1001 from us ends the session. hangUp says goodbye in its place.
	conn.SetCloseHandler(func(int, string) error { return nil })
	sock := &socket{channel: c, keeper: k, conn: conn, session: s}
	sock.seq.Store(s.seq)
	return sock
}

// serve greets and reads until the socket ends.
func (s *socket) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.hangUp(websocket.CloseNormalClosure) })
	defer stop()
	defer s.hangUp(resumable)
	every, err := s.hello()
	if err != nil {
		return err
	}
	beating, quiet := context.WithCancel(ctx)
	var beats sync.WaitGroup
	caught.Go(&beats, s.channel.log, "discord heartbeat", func() { s.beat(beating, every) })
	defer beats.Wait()
	defer quiet()
	if err := s.introduce(); err != nil {
		return err
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(greeting))
	for {
		f, err := s.read()
		if err != nil {
			return err
		}
		if over, err := s.handle(ctx, f); over {
			return err
		}
	}
}

// hello is the gateway's first frame, which tells how often it wants a sign of
// life.
func (s *socket) hello() (every time.Duration, err error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(greeting))
	f, err := s.read()
	if err != nil {
		return 0, err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if f.Op != opHello || json.Unmarshal(f.Data, &hello) != nil || hello.Interval <= 0 {
		return 0, errors.New("discord: the gateway did not say hello")
	}
	return time.Duration(hello.Interval) * time.Millisecond, nil
}

// introduce resumes the session, or begins one.
func (s *socket) introduce() error {
	if s.session.id != "" {
		return s.write(opResume, map[string]any{
			"token": s.channel.token, "session_id": s.session.id, "seq": s.session.seq,
		})
	}
	return s.write(opIdentify, map[string]any{
		"token": s.channel.token, "intents": intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "holm", "device": "holm"},
	})
}

// beat sends heartbeats. When one was not answered before the next is due, the
// connection is dead whatever TCP says.
func (s *socket) beat(ctx context.Context, every time.Duration) {
	s.heard.Store(true)
	wait := rand.N(every)
	for pause(ctx, wait) == nil {
		if !s.heard.Swap(false) {
			s.deaf.Store(true)
			s.hangUp(resumable)
			return
		}
		if s.heartbeat() != nil {
			return // reading fails as well
		}
		wait = every
	}
}

func (s *socket) heartbeat() error {
	if seq := s.seq.Load(); seq > 0 {
		return s.write(opHeartbeat, seq)
	}
	return s.write(opHeartbeat, nil)
}

func (s *socket) write(op int, data any) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if err := s.conn.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		return s.channel.unanswered("write to the gateway", err)
	}
	return nil
}

func (s *socket) hangUp(code int) {
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	_ = s.conn.Close()
}

func (s *socket) read() (frame, error) {
	var f frame
	err := s.conn.ReadJSON(&f)
	if err == nil {
		return f, nil
	}
	if s.deaf.Load() {
		return f, errors.New("discord: the gateway did not answer a heartbeat")
	}
	if closed := new(websocket.CloseError); errors.As(err, &closed) {
		return f, s.closed(closed)
	}
	return f, s.channel.unanswered("read from the gateway", err)
}

// refusedCodes close the gateway for what no new try can mend: the token, the
// intents, the shards.
var refusedCodes = map[int]string{
	4004: "the token was refused", 4010: "the shard was refused", 4011: "the bot is in too many servers for one connection",
	4012: "the version of the API was refused", 4013: "the intents were refused", 4014: "the intents are not allowed to this bot",
}

// overCodes end the session as well.
var overCodes = map[int]bool{4003: true, 4007: true, 4009: true, websocket.CloseNormalClosure: true}

func (s *socket) closed(err *websocket.CloseError) error {
	text := s.channel.redact(err.Text)
	if why, ok := refusedCodes[err.Code]; ok {
		return fmt.Errorf("discord: %s (%d %s): %w", why, err.Code, text, bot.ErrSetup)
	}
	closed := fmt.Errorf("discord: the gateway closed (%d %s)", err.Code, text)
	if overCodes[err.Code] {
		*s.session = session{}
		return fmt.Errorf("%w: %w", errNewSession, closed)
	}
	return closed
}

// handle deals with one frame; over tells that the socket is to end.
func (s *socket) handle(ctx context.Context, f frame) (over bool, err error) {
	switch f.Op {
	case opDispatch:
		err := s.dispatch(ctx, f)
		return err != nil, err
	case opHeartbeat:
		err := s.heartbeat()
		return err != nil, err
	case opHeartbeatAck:
		s.heard.Store(true)
	case opReconnect:
		return true, nil
	case opInvalidSession:
		var resumable bool
		if json.Unmarshal(f.Data, &resumable) == nil && resumable {
			return true, nil
		}
		*s.session = session{}
		return true, errNewSession
	}
	return false, nil
}

// dispatch deals with one event. Its number is noted only when that is done, so
// that a session goes on with what was not.
func (s *socket) dispatch(ctx context.Context, f frame) error {
	switch f.Type {
	case "READY":
		s.ready(ctx, f.Data)
		s.taken()
	case "RESUMED":
		s.taken()
	case messageCreate, interactionCreate:
		if err := s.keeper.keep(f.Type, f.Data); err != nil {
			return err
		}
	}
	if f.Seq > 0 {
		s.session.seq = f.Seq
		s.seq.Store(f.Seq)
	}
	return nil
}

// taken notes that the gateway took the session; from here on heartbeats watch.
func (s *socket) taken() {
	_ = s.conn.SetReadDeadline(time.Time{})
	s.channel.link.up()
}

func (s *socket) ready(ctx context.Context, data json.RawMessage) {
	var ready struct {
		Session string  `json:"session_id"`
		Resume  string  `json:"resume_gateway_url"`
		User    account `json:"user"`
		App     struct {
			ID string `json:"id"`
		} `json:"application"`
	}
	if json.Unmarshal(data, &ready) != nil {
		return
	}
	s.session.id, s.session.resume = ready.Session, ready.Resume
	s.channel.link.known(ready.User.Username)
	caught.Go(&s.keeper.tasks, s.channel.log, "discord commands", func() { s.channel.register(ctx, ready.App.ID) })
}
