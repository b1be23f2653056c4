package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// mailbox is the example adapter, running.
type mailbox struct {
	t     *testing.T
	pages map[string]string // by person
}

// startMailbox runs the example as docs/channel-adapters.md says, behind front.
func startMailbox(t *testing.T, p *process, outside *front, token, secret string) *mailbox {
	t.Helper()
	cmd := exec.Command(binaries.adapter, "--listen", "127.0.0.1:0", "--holm", p.url, "--agent", "main", "--people", "olga,eve")
	cmd.Env = append(p.environ(), "ADAPTER_TOKEN="+token, "ADAPTER_SECRET="+secret)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	m := &mailbox{t: t, pages: map[string]string{}}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		name, address, _ := strings.Cut(lines.Text(), ": ")
		if name != "ready" {
			m.pages[name] = address
			continue
		}
		u, err := url.Parse(strings.TrimSuffix(strings.TrimPrefix(address, "cards at "), "/holm"))
		if err != nil {
			t.Fatal(err)
		}
		outside.target.Store(u)
		return m
	}
	t.Fatal("the example did not start")
	return nil
}

func (m *mailbox) read(person string) string {
	m.t.Helper()
	resp, err := http.Get(m.pages[person])
	return m.body(resp, err)
}

func (m *mailbox) post(person, path string, form url.Values) string {
	m.t.Helper()
	resp, err := http.PostForm(m.pages[person]+path, form)
	return m.body(resp, err)
}

func (m *mailbox) body(resp *http.Response, err error) string {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

var letterButton = regexp.MustCompile(`name="letter" value="([^"]*)">\s*<button name="token" value="([^"]*)">Approve this call<`)

// TestTheExampleAdapter is a whole round through the program in examples/adapter:
// an invitation, a card, a tap, and what became of it.
func TestTheExampleAdapter(t *testing.T) {
	outside := newFront(t)
	p := newProcess(t)
	key, seen := p.setUp("main")
	var channel struct{ Token, SigningSecret string }
	if err := json.Unmarshal([]byte(p.holm("channels", "add", "mailbox", "--agent", "main", "--url", outside.URL+"/holm", "--json")), &channel); err != nil {
		t.Fatal(err)
	}
	box := startMailbox(t, p, outside, channel.Token, channel.SigningSecret)
	invite := p.field("token", "invite", "--agent", "main", "--role", "owner")
	if said := box.post("olga", "/invitation", url.Values{"token": {invite}}); !strings.Contains(said, "Done") {
		t.Fatalf("the invitation: %s", said)
	}
	if said := box.post("eve", "/invitation", url.Values{"token": {invite}}); strings.Contains(said, "Done") {
		t.Errorf("the invitation once more: %s", said)
	}
	if said := p.holm("channels", "test", "mailbox"); !strings.Contains(said, "yes") || !strings.Contains(box.read("olga"), "This is a test") {
		t.Errorf("the test card: %s", said)
	}

	done := later(t.Context(), p.connect(key, "60s"), map[string]any{"note": "<b>1</b>"})
	var letter, token string
	p.eventually(func() error {
		m := letterButton.FindStringSubmatch(box.read("olga"))
		if m == nil {
			return errors.New("no card has come")
		}
		letter, token = html.UnescapeString(m[1]), html.UnescapeString(m[2])
		return nil
	})
	if page := box.read("olga"); !strings.Contains(page, "&lt;b&gt;1&lt;/b&gt;") {
		t.Errorf("the argument is not shown as text: %s", page)
	}
	press := url.Values{"letter": {letter}, "token": {token}}
	if said := box.post("eve", "/press", press); !strings.Contains(said, "no such button") {
		t.Errorf("somebody else's tap: %s", said)
	}
	if said := box.post("olga", "/press", press); !strings.Contains(said, "Done: approved") {
		t.Errorf("the tap: %s", said)
	}
	if got := p.within(done); got.Text != "recorded" || len(seen()) != 1 {
		t.Errorf("the call: %+v", got)
	}
	p.eventually(func() error {
		if page := box.read("olga"); strings.Contains(page, ">Approve this call<") || !strings.Contains(page, "✅ Done") {
			return errors.New("the card does not show the end")
		}
		return nil
	})
	if said := box.post("olga", "/press", press); !strings.Contains(said, "no such button") {
		t.Errorf("the tap once more: %s", said)
	}
}
