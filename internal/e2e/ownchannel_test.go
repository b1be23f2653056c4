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
// come through it, a test card tells who is reached, its secrets are replaced, and
// its removal, through the other replica, closes it.
func TestAChannelIsAddedWhileHolmRuns(t *testing.T) {
	telegram := telegramfake.New(t, telegramfake.Options{
		Patience: patience, AllowHTTP: true,
		AllowUnanswered: true, // a tap just before its token is void
	})
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

	// The bot's token is replaced while a question is open and another one comes:
	// what is tapped and asked meanwhile waits for the new token.
	held = later(t.Context(), b.connect(key, "60s"), map[string]any{"n": 2})
	card := telegram.WaitMessage(ownerID, open)
	fresh := telegram.RevokeToken()
	owner.Click(card, "Approve this call")
	next := later(t.Context(), a.connect(key, "60s"), map[string]any{"n": 3})
	if err := os.WriteFile(token, []byte(fresh), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := a.holm("channels", "rotate", "telegram", "--token-file", token); !strings.Contains(said, "new secrets: connected") {
		t.Errorf("the CLI said %q", said)
	}
	if got := b.within(held); got.Text != "recorded" {
		t.Errorf("the call: %+v", got)
	}
	owner.Click(telegram.WaitMessage(ownerID, func(m telegramfake.Message) bool { return open(m) && strings.Contains(m.Text, "#3") }), "Approve this call")
	if got := a.within(next); got.Text != "recorded" || len(seen()) != 3 {
		t.Errorf("the next call: %+v", got)
	}

	a.eventually(func() error {
		if log := a.holm("audit", "export"); !strings.Contains(log, "channel_rotated") || strings.Contains(log, strings.SplitAfter(fresh, ":")[1]) {
			return errors.New("the rotation is not on record, or its secret is")
		}
		return nil
	})

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
	if out, code := p.try("channels", "add", "slack", "--bot-token-file", token, "--app-token-file", token); code != 2 || !strings.Contains(out, "xapp-") {
		t.Errorf("a token of another form: %d %s", code, out)
	}
	if out, code := p.try("channels", "add", "slack", "--mode", "webhook", "--bot-token-file", token, "--app-token-file", token); code != 1 && code != 2 {
		t.Errorf("a mode that is none: %d %s", code, out)
	}
}
