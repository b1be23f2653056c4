package discordfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"holm/internal/testkit/discordfake"
)

// recorder takes the failures that a test would have had.
type recorder struct {
	*testing.T
	mu    sync.Mutex
	said  []string
	heard chan struct{}
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
	select {
	case r.heard <- struct{}{}:
	default:
	}
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := strings.Join(r.said, "\n")
	r.said = nil
	return said
}

// client calls the fake as a bot does.
type client struct {
	*recorder
	fake *discordfake.Server
}

func newClient(t *testing.T, opts discordfake.Options) client {
	r := &recorder{T: t, heard: make(chan struct{}, 1)}
	return client{r, discordfake.New(r, opts)}
}

func (c client) call(token, method, path, body string) (status, code int, text string) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.fake.APIURL()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bot "+token)
	req.Header.Set("User-Agent", "DiscordBot (test)")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	answer, _ := io.ReadAll(resp.Body)
	var refusal struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(answer, &refusal)
	return resp.StatusCode, refusal.Code, string(answer)
}

const nobody = `"allowed_mentions":{"parse":[],"replied_user":false}`

func TestMessagesThatDiscordRefuses(t *testing.T) {
	c := newClient(t, discordfake.Options{})
	path := "/channels/" + c.fake.Person("Ann").Chat() + "/messages"
	button := func(more string) string {
		return `{"content":"x",` + nobody + `,"components":[{"type":1,"components":[{"type":2,"style":1,"label":"l",` + more + `}]}]}`
	}
	for name, body := range map[string]string{
		"long":           `{"content":"` + strings.Repeat("x", 2001) + `",` + nobody + `}`,
		"long embed":     `{"content":"x","embeds":[{"description":"` + strings.Repeat("x", 4097) + `"}],` + nobody + `}`,
		"many":           `{"content":"x","embeds":[{"description":"` + strings.Repeat("x", 4000) + `"},{"description":"` + strings.Repeat("x", 2001) + `"}],` + nobody + `}`,
		"empty embed":    `{"content":"x","embeds":[{}],` + nobody + `}`,
		"no button data": button(`"custom_id":""`),
		"long data":      button(`"custom_id":"` + strings.Repeat("x", 101) + `"`),
		"twice":          button(`"custom_id":"a"},{"type":2,"style":1,"label":"l","custom_id":"a"`),
		"long label":     button(`"custom_id":"a","style":1,"label":"` + strings.Repeat("x", 81) + `"`),
	} {
		if status, code, _ := c.call(c.fake.Token(), "POST", path, body); status != 400 || code != 50035 {
			t.Errorf("%s: %d %d", name, status, code)
		}
	}
	if status, code, _ := c.call(c.fake.Token(), "POST", path, `{"content":" ",`+nobody+`}`); status != 400 || code != 50006 {
		t.Errorf("empty: %d %d", status, code)
	}
	if status, code, _ := c.call(c.fake.Token(), "POST", "/channels/1/messages", `{"content":"x",`+nobody+`}`); status != 404 || code != 10003 {
		t.Errorf("no channel: %d %d", status, code)
	}
	if status, _, _ := c.call("another", "POST", path, `{}`); status != 401 {
		t.Errorf("another token: %d", status)
	}
	if said := c.take(); said != "" {
		t.Errorf("the test would have failed: %s", said)
	}
	if status, _, _ := c.call(c.fake.Token(), "POST", path, button(`"custom_id":"a"`)); status != 200 {
		t.Errorf("a good one: %d", status)
	}
}

// What Discord takes although no good client sends it fails a test.
func TestMistakesThatFailATest(t *testing.T) {
	c := newClient(t, discordfake.Options{})
	path := "/channels/" + c.fake.Person("Ann").Chat() + "/messages"
	for name, body := range map[string]string{
		"mentions": `{"content":"@everyone"}`, "some mentions": `{"content":"x","allowed_mentions":{"parse":["users"]}}`,
		"unknown field": `{"content":"x","contnet":"y",` + nobody + `}`,
	} {
		c.call(c.fake.Token(), "POST", path, body)
		if c.take() == "" {
			t.Errorf("%s: was taken", name)
		}
	}
	c.call(c.fake.Token(), "DELETE", path, "")
	if c.take() == "" {
		t.Error("a call that is not known was taken")
	}
}

func TestInteractionsAreAnsweredOnceAndInTime(t *testing.T) {
	c := newClient(t, discordfake.Options{AckTimeout: 20 * time.Millisecond})
	ann := c.fake.Person("Ann")
	path := "/channels/" + ann.Chat() + "/messages"
	c.call(c.fake.Token(), "POST", path, `{"content":"x",`+nobody+`}`)
	ann.TapData(ann.Messages()[0], "data")
	<-c.heard
	if said := c.take(); !strings.Contains(said, "was not answered within 20ms") {
		t.Errorf("said %q", said)
	}
	if status, code, _ := c.call(c.fake.Token(), "POST", "/interactions/1/none/callback", `{"type":6}`); status != 404 || code != 10062 {
		t.Errorf("an unknown one: %d %d", status, code)
	}
}

func TestGatewayRefuses(t *testing.T) {
	c := newClient(t, discordfake.Options{})
	identify := `{"op":2,"d":{"token":"%s","intents":%d,"properties":{"os":"linux"}}}`
	for name, want := range map[string]struct {
		frame string
		code  int
	}{
		"token":        {fmt.Sprintf(identify, "another", 4096), 4004},
		"intents":      {fmt.Sprintf(identify, c.fake.Token(), 1<<15), 4014},
		"resume token": {`{"op":6,"d":{"token":"x","session_id":"s","seq":1}}`, 4004},
		"unknown op":   {`{"op":99}`, 4001},
	} {
		conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(strings.TrimSuffix(c.fake.APIURL(), "/api/v10"), "http", "ws", 1)+"/gateway?v=10&encoding=json", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if _, _, err = conn.ReadMessage(); err != nil { // hello
			t.Fatal(err)
		}
		if err := conn.WriteMessage(websocket.TextMessage, []byte(want.frame)); err != nil {
			t.Fatal(err)
		}
		if _, _, err = conn.ReadMessage(); !websocket.IsCloseError(err, want.code) {
			t.Errorf("%s: %v", name, err)
		}
		_ = conn.Close()
	}
}
