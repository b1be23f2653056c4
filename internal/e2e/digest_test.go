package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/bot"
	"holm/internal/db/dbtest"
	"holm/internal/testkit/discordfake"
	"holm/internal/testkit/slackfake"
	"holm/internal/testkit/telegramfake"
)

// flood starts holm with a window that ends when the test says so, and n calls
// at once; ended has the calls, endWindow lets the list be sent.
func flood(t *testing.T, n int, env []string, started func(*process)) (p *process, held []<-chan reply, seen func() []string, endWindow func()) {
	t.Helper()
	url := dbtest.URL(t)
	p = startIn(t, append(env, "HOLM_DIGEST_WINDOW=1m", "HOLM_DATABASE_URL="+url))
	started(p)
	key, seen := p.setUp("main")
	session := p.connect(key, "60s")
	for i := range n {
		held = append(held, later(t.Context(), session, map[string]any{"repo": "holm", "n": i}))
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	p.eventually(func() error {
		var gathered int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM card_deliveries WHERE digest_id IS NOT NULL`).Scan(&gathered)
		if err == nil && gathered < n-1 {
			err = fmt.Errorf("%d cards gathered", gathered)
		}
		return err
	})
	return p, held, seen, func() {
		if _, err := conn.Exec(t.Context(), `UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'bot_digest'`); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *process) allRecorded(held []<-chan reply) {
	p.t.Helper()
	for i, one := range held {
		if got := p.within(one); got.Text != "recorded" {
			p.t.Errorf("call %d: %+v", i, got)
		}
	}
}

// TestAFloodOnTelegram: six calls at once are a card and one list, from which
// five are approved together.
func TestAFloodOnTelegram(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p, held, seen, endWindow := flood(t, 6, env, func(*process) { telegram.WaitPoll() })
	owner.Click(telegram.WaitMessage(ownerID, open), "Approve this call")
	endWindow()
	has := func(text string) func(telegramfake.Message) bool {
		return func(m telegramfake.Message) bool {
			_, ok := m.Button(text)
			return ok
		}
	}
	owner.Click(telegram.WaitMessage(ownerID, has(bot.LabelReviewAll)), bot.LabelReviewAll)
	review := telegram.WaitMessage(ownerID, has("Approve these 5 once"))
	if !strings.Contains(review.Text, "all · repo: holm") || strings.Count(review.Text, " · n: ") != 5 {
		t.Errorf("the review shows\n%s", review.Text)
	}
	owner.Click(review, "Approve these 5 once")
	p.allRecorded(held)
	telegram.WaitMessage(ownerID, shows("None of these 5 requests waits any more"))
	if ran := seen(); len(ran) != 6 {
		t.Errorf("ran %v, want each once", ran)
	}
	telegram.Settle()
}

// TestAFloodOnSlack is the same there, with one request decided by its own card
// and the others from a form.
func TestAFloodOnSlack(t *testing.T) {
	slack, owner, env := withSlack(t)
	p, held, seen, endWindow := flood(t, 6, env, func(p *process) { slack.CallAt(0, p.url+bot.WebhookPath("main", "slack")) })
	owner.Click("Approve this call").Acked()
	endWindow()
	list := owner.WaitMessage("the list", func(m slackfake.Message) bool { return strings.Contains(m.Shown(), "5 requests wait") })
	number := list.Buttons()[0].Label
	owner.ClickIn(list, number).Acked()
	owner.WaitMessage("the own card", func(m slackfake.Message) bool {
		return strings.HasPrefix(m.Shown(), "🔐") && strings.Contains(m.Shown(), " · "+number+"\n") && len(m.Buttons()) > 0
	})
	owner.Click("Approve this call").Acked()
	owner.WaitMessage("the list without it", func(m slackfake.Message) bool { return strings.Contains(m.Shown(), "4 of 5 requests wait") })
	owner.Click(bot.LabelReviewAll).Acked()
	owner.WaitModal("the review", func(v slackfake.View) bool { return strings.Contains(v.Shown(), "all · repo: holm") })
	owner.Submit(map[string]string{"Decision": "Approve these 4 once"}).Acked()
	p.allRecorded(held)
	owner.WaitMessage("the end", func(m slackfake.Message) bool {
		return strings.Contains(m.Shown(), "None of these 5 requests waits any more") && len(m.Buttons()) == 0
	})
	if ran := seen(); len(ran) != 6 {
		t.Errorf("ran %v, want each once", ran)
	}
}

// TestAFloodOnDiscord is the same there, with one decision for all.
func TestAFloodOnDiscord(t *testing.T) {
	discord := discordfake.New(t, discordfake.Options{})
	owner := discord.Person("Olga")
	env := []string{
		"HOLM_DISCORD_TOKEN=" + discord.Token(), "HOLM_DISCORD_API_URL=" + discord.APIURL(), "HOLM_OWNERS=discord:" + owner.Identity(),
	}
	p, held, seen, endWindow := flood(t, 6, env, func(*process) { discord.WaitReady(1) })
	has := func(text string) func(discordfake.Message) bool {
		return func(m discordfake.Message) bool {
			return slices.ContainsFunc(m.Buttons, func(b discordfake.Button) bool { return b.Label == text })
		}
	}
	owner.Tap(owner.WaitMessage("a card", has("Approve this call")), "Approve this call").WaitText()
	endWindow()
	owner.Tap(owner.WaitMessage("the list", has(bot.LabelReviewAll)), bot.LabelReviewAll).WaitAnswered()
	review := owner.WaitMessage("the review", has("Reject these 5"))
	if told := owner.Tap(review, "Approve these 5 once").WaitText(); !strings.Contains(told, "Approved once: #") {
		t.Errorf("told %q", told)
	}
	p.allRecorded(held)
	owner.WaitMessage("the end", func(m discordfake.Message) bool {
		return len(m.Buttons) == 0 && strings.Contains(m.Shown(), "None of these 5 requests waits any more")
	})
	if ran := seen(); len(ran) != 6 {
		t.Errorf("ran %v, want each once", ran)
	}
}
