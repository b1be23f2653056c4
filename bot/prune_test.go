package bot_test

import (
	"fmt"
	"testing"

	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// ids are the events that the inbox has of a channel.
func (w *world) ids(channel string) map[string]bool {
	rows := must(w.pool.Query(w.ctx, `SELECT event_id FROM inbox WHERE channel = $1`, channel))
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var id string
		must("", rows.Scan(&id))
		all[id] = true
	}
	must("", rows.Err())
	return all
}

func (w *world) count(table string) (n int) {
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM `+table).Scan(&n))
	return n
}

// prune runs the job of cmd/holm once, to its end.
func (w *world) prune() {
	w.t.Helper()
	made := must(w.client.Insert(w.ctx, bot.PruneArgs{}, &river.InsertOpts{Queue: approvals.CardQueue, MaxAttempts: 1}))
	w.poll("the pruning", func() bool {
		job := must(w.client.JobGet(w.ctx, made.Job.ID))
		if job.State == "discarded" {
			w.t.Fatalf("pruning failed: %v", job.Errors)
		}
		return job.State == "completed"
	})
}

func TestPruneForgetsWhatWasHandledLongAgo(t *testing.T) {
	w := newWorld(t)
	const row = `INSERT INTO inbox (channel, event_id, payload, received_at, handled_at) VALUES ($1, $2, '{}', now() - $3::interval, now() - $4::interval)`
	for i := range 2500 { // more than one batch
		w.exec(row, "old", fmt.Sprint(i), "8 days", "8 days")
	}
	w.exec(row, "old", "Ev01", "8 days", "8 days")
	w.exec(row, "old", "12345678901234567890123", "8 days", "8 days") // a number that LastID does not take
	w.exec(row, "mixed", "90", "8 days", "8 days")
	w.exec(row, "mixed", "100", "6 days", "6 days")
	w.exec(row, "mixed", "20", "8 days", nil)
	w.exec(row, "mixed", "21", "8 days", "6 days")

	w.prune()
	if got := fmt.Sprint(w.ids("old")); got != "map[2499:true]" {
		t.Errorf("left of what is old: %s", got)
	}
	if got := fmt.Sprint(w.ids("mixed")); got != "map[100:true 20:true 21:true]" {
		t.Errorf("left of the others: %s", got)
	}
	if id := must(w.bot.LastID(w.ctx, "old")); id != 2499 {
		t.Errorf("the last id is %d", id)
	}
	// What is left is still known when it comes again.
	if err := w.bot.Store(w.ctx, "old", bot.Incoming{ID: "2499", Payload: []byte(`{}`)}); err != nil || w.count("inbox") != 4 {
		t.Errorf("%d rows, %v", w.count("inbox"), err)
	}
}

func TestPruneForgetsTypedCallsQuestionsAndTries(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.member("chat", "gus", policy.User, "main")
	w.types("gus", "run refund order=7")
	w.hears("gus", "Waiting for approval: request #1")
	w.says("ann", "reject 1")
	w.poll("the call ended", func() bool { return w.callState("done") == 1 })
	w.exec(`
		INSERT INTO reason_prompts (channel, chat, message, delivery_id, action)
		SELECT 'chat', 'c', 'm', id, 0
		FROM card_deliveries
		LIMIT 1`)
	w.exec(`INSERT INTO token_tries (channel, identity, wrong, since) VALUES ('chat', 'old', 10, now() - interval '8 days'), ('chat', 'new', 10, now())`)
	w.prune()
	if calls, prompts, tries := w.count("chat_calls"), w.count("reason_prompts"), w.count("token_tries"); calls != 1 || prompts != 1 || tries != 1 {
		t.Errorf("%d calls, %d questions, %d tries are left", calls, prompts, tries)
	}
	w.exec(`UPDATE chat_calls SET done_at = now() - interval '8 days'`)
	w.exec(`UPDATE reason_prompts SET created_at = now() - interval '8 days'`)
	w.prune()
	if n := w.count("chat_calls") + w.count("reason_prompts"); n != 0 {
		t.Errorf("%d rows are left after eight days", n)
	}
	if n := w.count("approval_requests"); n != 1 {
		t.Errorf("%d requests are left", n)
	}
}
