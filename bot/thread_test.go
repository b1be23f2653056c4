package bot_test

import (
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// inThread types a line in a thread of the direct chat.
func (w *world) inThread(who, thread, line string) {
	w.t.Helper()
	w.store(bot.Event{
		Kind: bot.Text, Identity: who, Direct: true, Text: line,
		Message: bot.MessageRef{Chat: "chat-" + who, Message: "m" + thread, Thread: thread},
	})
}

// hearsIn waits for a message to a person in a thread.
func (w *world) hearsIn(who, thread, text string) {
	w.t.Helper()
	w.see(text+" in thread "+thread, func() bool {
		for _, m := range w.chat.messages {
			if m.to.Identity == who && strings.Contains(m.card.Head, text) && len(m.card.Facts) == 0 {
				if m.to.ReplyTo.Thread != thread {
					w.t.Errorf("%q stands in thread %q, not %q", text, m.to.ReplyTo.Thread, thread)
				}
				return true
			}
		}
		return false
	})
}

// TestWhatFollowsATextStaysInItsThread: waiting notes, news and results.
func TestWhatFollowsATextStaysInItsThread(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.member("chat", "gus", policy.Guest, "main")
	w.inThread("gus", "seven", "whoami")
	w.hearsIn("gus", "seven", "guest of agent main")
	w.inThread("gus", "eight", "run list max=3")
	w.hearsIn("gus", "eight", "✅ mcp__shop__list")
	w.inThread("gus", "nine", "run refund order=0042")
	w.hearsIn("gus", "nine", "Waiting for approval: request #1")
	w.tap("ann", w.token("ann", must(approvals.GetShort(w.ctx, w.pool, "main", 1)), "Reject"))
	w.hearsIn("gus", "nine", "Request #1")
	w.types("gus", "run list max=4")
	w.see("a result outside of threads", func() bool {
		for _, m := range w.chat.messages {
			if strings.Contains(m.card.Head, "'max':4") {
				return m.to.ReplyTo == bot.MessageRef{}
			}
		}
		return false
	})
}

// TestOfWhatCannotBeReadThePersonIsToldOnceAMinute and the text beside it counts.
func TestOfWhatCannotBeReadThePersonIsToldOnceAMinute(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	w.member("chat", "bea", policy.Guest, "main")
	photo := func(who, caption string) {
		w.store(bot.Event{Kind: bot.Text, Identity: who, Direct: true, Text: caption, Unread: true})
	}
	told := func(who string) (n int) {
		for _, m := range w.chat.messages {
			if m.to.Identity == who && strings.Contains(m.card.Head, "text alone") {
				n++
			}
		}
		return n
	}
	for range 3 {
		photo("gus", "")
	}
	photo("gus", "whoami")
	w.hears("gus", "guest of agent main")
	photo("bea", "")
	w.see("bea told", func() bool { return told("bea") == 1 })
	w.poll("all handled", func() bool { return w.handled() == 5 })
	w.see("gus told once", func() bool { return told("gus") == 1 })
	w.exec(`UPDATE inbox SET unread_told_at = unread_told_at - interval '2 minutes'`)
	photo("gus", "")
	w.see("gus told again", func() bool { return told("gus") == 2 })
}
