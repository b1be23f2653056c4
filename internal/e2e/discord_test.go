package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/discordfake"
)

// TestWalkOnDiscord is the round of TestWalk with another platform: a card to the
// owner, a tap of a stranger that changes nothing, the owner's tap, the call, the
// outcome on the card; then a rejection with a reason, written in a form.
func TestWalkOnDiscord(t *testing.T) {
	discord := discordfake.New(t, discordfake.Options{})
	owner, eve := discord.Person("Olga"), discord.Person("Eve")
	p := newProcess(t, "HOLM_DISCORD_TOKEN="+discord.Token(), "HOLM_DISCORD_API_URL="+discord.APIURL(),
		"HOLM_OWNERS=discord:"+owner.Identity())
	discord.WaitReady(1)
	key, seen := p.setUp("main")
	session := p.connect(key, "60s")
	events := p.stream("main", key, "mcp:"+session.ID())
	args := map[string]any{"order": "1042"}
	done := later(t.Context(), session, args)

	open := func(m discordfake.Message) bool { return len(m.Buttons) > 0 }
	card := owner.WaitMessage("an open card", open)
	for _, want := range []string{"mcp__fix__record", `order: "1042"`} {
		if !strings.Contains(card.Shown(), want) {
			t.Errorf("the card lacks %q:\n%s", want, card.Shown())
		}
	}
	if told := eve.Tap(card, "Approve this call").WaitText(); !strings.Contains(told, "somebody else") {
		t.Errorf("a stranger was told %q", told)
	}
	if ran := seen(); ran != nil {
		t.Fatalf("the upstream saw %v before the decision", ran)
	}
	if told := owner.Tap(card, "Approve this call").WaitText(); told == "" {
		t.Error("the tap got no text")
	}
	if got := p.within(done); got.Err != nil || got.Failed {
		t.Fatalf("the call: %+v\n%s", got, p.log)
	}
	if diff := cmp.Diff([]string{`{"order":"1042"}`}, seen()); diff != "" {
		t.Error(diff)
	}
	p.nextEvent(events, "approval_resolved")
	final := owner.WaitMessage("the outcome", func(m discordfake.Message) bool {
		return len(m.Buttons) == 0 && strings.Contains(m.Shown(), "succeeded")
	})
	if final.ID != card.ID || !strings.Contains(final.Shown(), "Olga") {
		t.Errorf("the outcome stands in message %s, the card was %s:\n%s", final.ID, card.ID, final.Shown())
	}

	done = later(t.Context(), session, map[string]any{"order": "1043"})
	card = owner.WaitMessage("the second card", open)
	tap := owner.Tap(card, "Reject with reason…")
	tap.WaitForm()
	tap.Submit("wrong order").WaitAnswered()
	if got := p.within(done); !strings.Contains(got.Text, "wrong order") {
		t.Errorf("after the rejection: %+v", got)
	}
	owner.WaitMessage("the reason on the card", func(m discordfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Shown(), "wrong order")
	})
	if len(eve.Messages()) > 0 {
		t.Errorf("a stranger got %+v", eve.Messages())
	}

	discord.Drop() // commands go on with the resumed session
	owner.Write("help")
	owner.WaitMessage("help", func(m discordfake.Message) bool { return strings.Contains(m.Shown(), "pending") })
	discord.WaitResumes(1)
}

// TestDiscordIsAddedWhileHolmRuns: without a setting but the address, and with a
// token that is refused first.
func TestDiscordIsAddedWhileHolmRuns(t *testing.T) {
	discord := discordfake.New(t, discordfake.Options{})
	owner := discord.Person("Olga")
	p := newProcess(t, "HOLM_DISCORD_API_URL="+discord.APIURL(), "HOLM_OWNERS=discord:"+owner.Identity())
	token := filepath.Join(t.TempDir(), "token")
	for _, c := range []struct{ token, said string }{{"nonsense", "three parts"}, {discord.Token(), ""}} {
		if err := os.WriteFile(token, []byte(c.token), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := p.try("channels", "add", "discord", "--token-file", token)
		if (code == 0) != (c.said == "") || !strings.Contains(out, c.said) {
			t.Errorf("%d %s", code, out)
		}
	}
	discord.WaitReady(1)
	if out, code := p.try("channels", "test", "discord"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	owner.WaitMessage("the test card", func(m discordfake.Message) bool { return strings.Contains(m.Shown(), "This is a test") })
}
