package e2e

import (
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"holm/channels/remote"
)

// adapter is an adapter as docs/channel-adapters.md wants it.
type adapter struct {
	t        *testing.T
	url      string
	secret   []byte
	messages chan adapterMessage
}

type adapterMessage struct {
	Type, To string
	Message  struct{ Chat, Message string }
	Card     struct {
		Head    string
		Args    []struct{ Name, Value string }
		Notes   []string
		Buttons [][]struct{ Label, Token string }
	}
}

func newAdapter(t *testing.T) *adapter {
	a := &adapter{t: t, messages: make(chan adapterMessage, 20)}
	server := httptest.NewServer(http.HandlerFunc(a.take))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

func (a *adapter) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	stamp, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get(remote.SignatureHeader), "t="), ",")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if at := time.Unix(seconds, 0); err != nil || !hmac.Equal([]byte(remote.Sign(a.secret, at, body)), []byte(r.Header.Get(remote.SignatureHeader))) {
		a.t.Errorf("the signature %q does not verify", r.Header.Get(remote.SignatureHeader))
	}
	var m adapterMessage
	if err := json.Unmarshal(body, &m); err != nil {
		a.t.Error(err)
	}
	a.messages <- m
	_, _ = w.Write([]byte(`{"chat":"room","message":"m1"}`))
}

// next waits for a message that fits.
func (a *adapter) next(fit func(adapterMessage) bool) adapterMessage {
	a.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m := <-a.messages:
			if fit(m) {
				return m
			}
		case <-timeout:
			a.t.Fatal("the adapter waited in vain for a message")
		}
	}
}

// post calls the REST interface as the adapter, for a person.
func (p *process) post(path, token, person, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if person != "" {
		req.Header.Set("X-Channel-User-Id", person)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// TestWalkThroughAnAdapter is the round on a platform that Holm does not know.
func TestWalkThroughAnAdapter(t *testing.T) {
	outside := newAdapter(t)
	p := newProcess(t)
	key, seen := p.setUp("main")
	var channel struct{ Token, SigningSecret string }
	if err := json.Unmarshal([]byte(p.holm("channels", "add", "matrix", "--agent", "main", "--url", outside.url, "--json")), &channel); err != nil {
		t.Fatal(err)
	}
	var err error
	if outside.secret, err = hex.DecodeString(channel.SigningSecret); err != nil || len(outside.secret) == 0 {
		t.Fatalf("signing secret %q: %v", channel.SigningSecret, err)
	}
	invite := p.field("token", "invite", "--agent", "main", "--role", "owner")
	if status, body := p.post("/api/agents/main/invites/redeem", channel.Token, "@olga", `{"token":"`+invite+`","name":"Olga"}`); status != http.StatusOK {
		t.Fatalf("redeem: %d %s", status, body)
	}

	done := later(t.Context(), p.connect(key, "60s"), map[string]any{"n": 1})
	card := outside.next(func(m adapterMessage) bool { return m.Type == "send" && len(m.Card.Buttons) > 0 })
	if card.To != "@olga" || !strings.Contains(card.Card.Head, "#1") {
		t.Errorf("card: %+v", card)
	}
	button := card.Card.Buttons[0][0].Token
	review := "/api/agents/main/approvals/by-short/1/review"
	approve := func(button string) string {
		return `{"decision":"approved","resolution":"single","button":"` + button + `"}`
	}
	for name, c := range map[string]struct{ token, person, button string }{
		"the channel's token alone":   {channel.Token, "@olga", ""},
		"a forged button":             {channel.Token, "@olga", strings.Repeat("A", len(button))},
		"somebody else's tap":         {channel.Token, "@eve", button},
		"the header with another key": {key, "@olga", button},
	} {
		if status, body := p.post(review, c.token, c.person, approve(c.button)); status < 400 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, body := p.post(review, channel.Token, "@olga", approve(button)); status != http.StatusOK {
		t.Fatalf("review: %d %s", status, body)
	}
	if got := p.within(done); got.Err != nil || got.Failed {
		t.Fatalf("the call: %+v", got)
	}
	if ran := seen(); len(ran) != 1 {
		t.Errorf("ran %v, want once", ran)
	}
	outside.next(func(m adapterMessage) bool {
		return m.Type == "update" && m.Message.Message == "m1" && len(m.Card.Buttons) == 0
	})
}
