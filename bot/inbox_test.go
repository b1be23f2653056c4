package bot_test

import (
	"fmt"
	"strings"
	"testing"

	"holm/bot"
)

func TestAnEventStoredTwiceIsHandledOnce(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	for range 3 {
		w.storeAs("7", bot.Event{Kind: bot.Text, Identity: "ann", Direct: true, Text: "whoami"})
	}
	w.poll("the event handled", func() bool { return w.handled() == 1 })
	w.says("ann", "help")
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if len(w.chat.messages) != 2 {
		t.Errorf("%d replies to one event and another", len(w.chat.messages))
	}
}

func TestStoreAndJobCommitTogether(t *testing.T) {
	w := idleWorld(t)
	w.exec(`ALTER TABLE river.river_job RENAME TO away`)
	err := w.bot.Store(w.ctx, "chat", bot.Incoming{ID: "1", Payload: []byte(`{}`)})
	w.exec(`ALTER TABLE river.away RENAME TO river_job`)
	if err == nil {
		t.Fatal("an event without its job was confirmed")
	}
	var n int
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM inbox`).Scan(&n))
	if n != 0 {
		t.Error("an event without its job was kept")
	}
	// The platform sends it again.
	w.storeAs("1", bot.Event{})
	w.start()
	w.poll("the event handled", func() bool { return w.handled() == 1 })
}

// TestABatchIsStoredWholeOrNotAtAll: a batch that comes again, with others, brings
// what is new.
func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	w := idleWorld(t)
	event := func(id, payload string) bot.Incoming { return bot.Incoming{ID: id, Payload: []byte(payload)} }
	count := func() (events, jobs int) {
		must("", w.pool.QueryRow(w.ctx, `SELECT (SELECT count(*) FROM inbox), (SELECT count(*) FROM river.river_job)`).Scan(&events, &jobs))
		return events, jobs
	}
	if err := w.bot.Store(w.ctx, "chat", event("1", `{}`), event("2", `{broken`)); err == nil {
		t.Error("a batch with what is no JSON was confirmed")
	}
	if events, jobs := count(); events != 0 || jobs != 0 {
		t.Errorf("%d events and %d jobs of a batch that failed", events, jobs)
	}
	for range 2 {
		if err := w.bot.Store(w.ctx, "chat", event("1", `{}`), event("2", `{}`), event("2", `{}`), event("3", `{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if events, jobs := count(); events != 3 || jobs != 3 {
		t.Errorf("%d events and %d jobs of three", events, jobs)
	}
	w.start()
	w.poll("the events handled", func() bool { return w.handled() == 3 })
}

func TestLastIDIsTheHighestNumber(t *testing.T) {
	w := idleWorld(t)
	if id := must(w.bot.LastID(w.ctx, "chat")); id != 0 {
		t.Errorf("the last id of nothing is %d", id)
	}
	for _, id := range []string{"9", "100", "20", "abc", "-5", "99999999999999999999999"} {
		w.storeAs(id, bot.Event{})
	}
	if err := w.bot.Store(w.ctx, "other", bot.Incoming{ID: "500", Payload: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if id := must(w.bot.LastID(w.ctx, "chat")); id != 100 {
		t.Errorf("the last id is %d", id)
	}
}

func TestPoisonousEventsAreGivenUpAndBlockNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.storeAs("1", bot.Event{Kind: bot.Text, Identity: "ann", Direct: true, Text: "undecodable"})
	if err := w.bot.Store(w.ctx, "chat", bot.Incoming{ID: "2", Payload: []byte("{\"Kind\":\"text\",\"Identity\":\"ann\",\"Direct\":true,\"Text\":\"whoami \xff\"}")}); err != nil {
		t.Fatal(err)
	}
	if err := w.bot.Store(w.ctx, "nobody", bot.Incoming{ID: "3", Payload: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	w.see("the reply to the good event", func() bool { return len(w.chat.messages) == 1 })
	// Its later attempts come at once instead of within half a minute.
	w.poll("the poisonous ones given up", func() bool {
		w.exec(`UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'inbox_handle' AND state IN ('retryable', 'available')`)
		return w.handled() == 3
	})
	var open int
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM river.river_job WHERE kind = 'inbox_handle' AND state <> 'completed' AND finalized_at IS NOT NULL`).Scan(&open))
	if open != 0 {
		t.Errorf("%d jobs were discarded without a word", open)
	}
}

func TestLongRepliesComeInParts(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.chat.limits.Total = 900
	for i := range 20 {
		w.ask(fmt.Sprintf(`{"n":%d}`, i))
	}
	w.store(bot.Event{Kind: bot.Text, Identity: "ann", Direct: true, Text: "pending"})
	w.see("twenty requests in several messages", func() bool {
		parts, text := 0, ""
		for _, m := range w.chat.messages {
			if len(m.card.Facts) == 0 {
				parts, text = parts+1, text+m.card.Head
			}
		}
		return parts > 1 && strings.Contains(text, "#1 ·") && strings.Contains(text, "#20 ·")
	})
}
