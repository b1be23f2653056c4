package bot_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/bot"
	"holm/internal/identity"
	"holm/policy"
)

func TestTheTestCardTellsWhoWasReached(t *testing.T) {
	w := idleWorld(t)
	outside := newRecorder("outside")
	w.bot.Remote = func(_ context.Context, namespace, agentID string) (bot.Channel, error) {
		if namespace == "outside" && agentID == "main" {
			return outside, nil
		}
		return nil, nil
	}
	w.owner("ada")
	w.owner("bea")
	w.owner("cem")
	w.member("chat", "user", policy.User, "main")
	w.member("outside", "olga", policy.Owner, "main")
	w.member("nowhere", "nora", policy.Owner, "main")
	byPerson := map[string]error{
		"bea": fmt.Errorf("blocked the bot: %w", bot.ErrUnreachable),
		"cem": &bot.RetryError{After: time.Minute, Err: errors.New("too many")},
	}
	w.chat.beforeSendTo = func(to bot.Recipient) error { return byPerson[to.Identity] }

	got := must(w.bot.Test(w.ctx, bot.TestWanted{}))
	want := []bot.Reached{
		{Channel: "chat", Identity: "ada", Name: "Ada", AgentID: "main", Reached: true},
		{Channel: "chat", Identity: "bea", Name: "Bea", AgentID: "main", Why: byPerson["bea"].Error()},
		{Channel: "chat", Identity: "cem", Name: "Cem", AgentID: "main", Why: byPerson["cem"].Error()},
		{Channel: "nowhere", Identity: "nora", Name: "Nora", AgentID: "main", Why: "channel nowhere is not connected for agent main"},
		{Channel: "outside", Identity: "olga", Name: "Olga", AgentID: "main", Reached: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reached (-want +got):\n%s", diff)
	}
	if len(w.chat.messages) != 1 || len(outside.messages) != 1 || len(w.chat.messages[0].card.Buttons) != 0 {
		t.Errorf("sent %+v and %+v", w.chat.messages, outside.messages)
	}
	contains(t, w.chat.messages[0].card.Head, "This is a test")

	if closed := must(w.bot.ClosedRoutes(w.ctx)); len(closed) != 1 || closed[0].Identity != "bea" {
		t.Errorf("closed: %+v", closed)
	}
	delete(byPerson, "bea")
	got = must(w.bot.Test(w.ctx, bot.TestWanted{Namespace: "chat", AgentID: "main"}))
	if len(got) != 3 || !got[1].Reached {
		t.Errorf("the second test: %+v", got)
	}
	if closed := must(w.bot.ClosedRoutes(w.ctx)); len(closed) != 0 {
		t.Errorf("still closed: %+v", closed)
	}
}

// TestATestReachesAPersonOnceOnly: several agents and a merge make no second card.
func TestATestReachesAPersonOnceOnly(t *testing.T) {
	w := idleWorld(t)
	w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(w.ctx, tx, "second", "test")
		return err
	})
	ada := w.owner("ada")
	w.member("chat", "ada", policy.Owner, "second")
	old := w.member("chat", "ada2", policy.User, "main")
	w.exec(`UPDATE users SET merged_into = $1 WHERE id = $2`, ada, old)
	got := must(w.bot.Test(w.ctx, bot.TestWanted{}))
	if len(got) != 2 || len(w.chat.messages) != 2 {
		t.Errorf("reached %+v", got)
	}
	if got := must(w.bot.Test(w.ctx, bot.TestWanted{AgentID: "nobody"})); len(got) != 0 {
		t.Errorf("of an unknown agent: %+v", got)
	}
}
