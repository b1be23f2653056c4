package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holm/internal/testkit/telegramfake"
)

// TestAChannelIsAddedWhileHolmRuns: both replicas open it at once, questions
// come through it, a test card tells who is reached, and its removal, through
// the other replica, closes it.
func TestAChannelIsAddedWhileHolmRuns(t *testing.T) {
	telegram := telegramfake.New(t, telegramfake.Options{Patience: patience, AllowHTTP: true})
	owner := telegram.PersonWithID(ownerID, "Olga").Open()
	a, b := newReplicas(t, "HOLM_TELEGRAM_API_URL="+telegram.URL(), fmt.Sprintf("HOLM_OWNERS=telegram:%d,telegram:77", ownerID))
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(telegram.Token()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := a.try("channels", "add", "telegram"); code != 2 {
		t.Errorf("without a secret: %d %s", code, out)
	}
	said := a.holm("channels", "add", "telegram", "--token-file", token)
	if !strings.Contains(said, "added: connected") {
		t.Errorf("the CLI said %q", said)
	}
	secret := strings.SplitAfter(telegram.Token(), ":")[1]
	if strings.Contains(said+a.holm("channels", "list", "--json")+a.holm("audit", "export"), secret) {
		t.Error("the secret is shown")
	}
	if out, code := b.try("channels", "add", "telegram", "--token-file", token); code != 1 || !strings.Contains(out, "exists already") {
		t.Errorf("a second one: %d %s", code, out)
	}

	key, seen := a.setUp("main")
	held := later(t.Context(), b.connect(key, "60s"), map[string]any{"n": 1})
	owner.Click(telegram.WaitMessage(ownerID, open), "Approve this call")
	if got := b.within(held); got.Text != "recorded" || len(seen()) != 1 {
		t.Errorf("the call: %+v", got)
	}
	out, code := b.try("channels", "test", "telegram")
	if code != 1 {
		t.Errorf("a test that does not reach everybody: %d %s", code, out)
	}
	telegram.WaitMessage(ownerID, func(m telegramfake.Message) bool { return strings.Contains(m.Text, "This is a test") })
	if shown := a.holm("channels", "show", "telegram"); !strings.Contains(shown, "telegram:77") {
		t.Errorf("the closed route is not shown: %s", shown)
	}

	b.holm("channels", "remove", "telegram")
	for _, p := range []*process{a, b} {
		p.eventually(func() error {
			if !strings.HasPrefix(p.holm("channels", "list"), "No channels") {
				return errors.New("the channel is open still")
			}
			return nil
		})
	}
	// The same channel again, this time after a start.
	a.holm("channels", "add", "telegram", "--token-file", token)
	a.stop()
	a.start()
	a.eventually(func() error {
		if !strings.Contains(a.holm("channels", "list"), "connected") {
			return errors.New("not connected")
		}
		return nil
	})
}

// TestSettingsKeepTheirChannels: what settings name is not added, nor removed.
func TestSettingsKeepTheirChannels(t *testing.T) {
	telegram, _, env := withTelegram(t)
	p := newProcess(t, env...)
	telegram.WaitPoll()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("not a token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"remove", "telegram"}, {"add", "telegram", "--token-file", token}} {
		if out, code := p.try(append([]string{"channels"}, words...)...); code != 1 || !strings.Contains(out, "settings of holm serve") {
			t.Errorf("%v: %d %s", words, code, out)
		}
	}
	if out, code := p.try("channels", "add", "slack", "--bot-token-file", token, "--app-token-file", token); code != 1 || !strings.Contains(out, "xapp-") {
		t.Errorf("a token of another form: %d %s", code, out)
	}
	if out, code := p.try("channels", "add", "slack", "--mode", "webhook", "--bot-token-file", token, "--app-token-file", token); code != 1 && code != 2 {
		t.Errorf("a mode that is none: %d %s", code, out)
	}
}
