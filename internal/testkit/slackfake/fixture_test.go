package slackfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"holm/internal/testkit/slackfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder takes the server's complaints in place of a test.
type recorder struct {
	testing.TB
	mu         sync.Mutex
	complaints []string
	said       chan struct{}
}

func record(t *testing.T) *recorder { return &recorder{TB: t, said: make(chan struct{}, 100)} }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, fmt.Sprintf(format, args...))
	r.said <- struct{}{}
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// wants waits for a complaint and checks that it is the only one.
func (r *recorder) wants(text string) {
	r.Helper()
	select {
	case <-r.said:
	case <-time.After(10 * time.Second):
		r.TB.Fatalf("no complaint; want one about %q", text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.complaints) != 1 || !strings.Contains(r.complaints[0], text) {
		r.TB.Errorf("complaints %q; want one about %q", r.complaints, text)
	}
	r.complaints = nil
}

// reply is a decoded answer.
type reply map[string]any

func (r reply) code() string {
	text, _ := r["error"].(string)
	return text
}

// call posts a form with the bot's token.
func call(t *testing.T, s *slackfake.Server, method string, params ...string) reply {
	t.Helper()
	return callAs(t, s, s.App(0).BotToken, method, params...)
}

func callAs(t *testing.T, s *slackfake.Server, token, method string, params ...string) reply {
	t.Helper()
	form := url.Values{}
	if token != "" {
		form.Set("token", token)
	}
	for i := 0; i+1 < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	status, _, body := post(t, s.APIURL()+method, "application/x-www-form-urlencoded", form.Encode())
	if status != http.StatusOK {
		t.Fatalf("%s: status %d", method, status)
	}
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func post(t *testing.T, to, kind, body string) (int, http.Header, []byte) {
	t.Helper()
	resp, err := client.Post(to, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// listener is a bare Socket Mode client.
type listener struct {
	t    *testing.T
	conn *websocket.Conn
}

type frame struct {
	Type           string          `json:"type"`
	Reason         string          `json:"reason"`
	NumConnections int             `json:"num_connections"`
	EnvelopeID     string          `json:"envelope_id"`
	RetryAttempt   int             `json:"retry_attempt"`
	RetryReason    string          `json:"retry_reason"`
	Accepts        bool            `json:"accepts_response_payload"`
	Payload        json.RawMessage `json:"payload"`
	ConnectionInfo struct {
		AppID string `json:"app_id"`
	} `json:"connection_info"`
}

func ticket(t *testing.T, s *slackfake.Server) string {
	t.Helper()
	opened := callAs(t, s, s.App(0).AppToken, "apps.connections.open")
	link, _ := opened["url"].(string)
	if link == "" {
		t.Fatalf("apps.connections.open: %v", opened)
	}
	return link
}

// dial opens a socket and takes its hello.
func dial(t *testing.T, s *slackfake.Server) (*listener, frame) {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial(ticket(t, s), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l := &listener{t: t, conn: conn}
	return l, l.read()
}

func (l *listener) read() frame {
	l.t.Helper()
	_ = l.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	var f frame
	if err := l.conn.ReadJSON(&f); err != nil {
		l.t.Fatalf("read: %v", err)
	}
	return f
}

func (l *listener) ack(f frame, payload any) {
	l.t.Helper()
	body := map[string]any{"envelope_id": f.EnvelopeID}
	if payload != nil {
		body["payload"] = payload
	}
	if err := l.conn.WriteJSON(body); err != nil {
		l.t.Fatal(err)
	}
}

// hear reads and acknowledges the next envelope.
func (l *listener) hear() frame {
	l.t.Helper()
	f := l.read()
	l.ack(f, nil)
	return f
}

func jsonOf(v any) string {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(v)
	return b.String()
}
