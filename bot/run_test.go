package bot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/bot"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// hears waits for a plain message to a person that has every part.
func (w *world) hears(who string, parts ...string) string {
	w.t.Helper()
	var text string
	w.see(fmt.Sprintf("%q at %s", parts, who), func() bool {
		for _, m := range w.chat.messages {
			if m.to.Identity == who && len(m.card.Facts) == 0 && hasAll(m.card.Head, parts) {
				text = m.card.Head
				return true
			}
		}
		return false
	})
	return text
}

func hasAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func (w *world) types(who, line string) {
	w.t.Helper()
	w.store(bot.Event{Kind: bot.Text, Identity: who, Name: who, Direct: true, Text: line})
}

func TestToolsAreListedWithWhatNeedsApproval(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	contains(t, w.says("gus", "tools"), "mcp__shop__list: Does list for main.", "mcp__shop__refund 🔐 needs approval", "mcp__shop__text (depends")
	contains(t, w.says("gus", "tools refund"), "run mcp__shop__refund order=STRING [amount=NUMBER]")
	contains(t, w.says("gus", "tools refnd"), "Did you mean mcp__shop__refund?")
	contains(t, w.says("gus", "tools @other"), "no member of an agent other")
	contains(t, w.says("stranger", "tools"), "private")
}

func TestARunIsMadeOnceAndItsResultComes(t *testing.T) {
	w := newWorld(t)
	gus := w.member("chat", "gus", policy.Guest, "main")
	for range 3 { // redelivered
		w.storeAs("run-1", bot.Event{Kind: bot.Text, Identity: "gus", Direct: true, Text: `/run list max=3 tags=["a b", "c"] note="one \"two\"" all=true`})
	}
	text := w.hears("gus", "✅ mcp__shop__list")
	contains(t, text, "done: {'max':3", "[image, image/png, 5 bytes]")
	want := `mcp__shop__list {"max":3,"tags":["a b", "c"],"note":"one \"two\"","all":true} by ` + gus
	if diff := cmp.Diff([]string{want}, w.shop.calls()); diff != "" {
		t.Error(diff)
	}
	w.types("gus", `run @main mcp__shop__list {"max": 1e2}`)
	w.hears("gus", "done: {'max': 1e2}")
	w.says("gus", "whoami") // nothing more is on its way
	if n := len(w.shop.calls()); n != 2 {
		t.Errorf("%d calls", n)
	}
}

func TestWrongRunsSayWhatIsWrongAndRunNothing(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	for line, want := range map[string]string{
		"run":                     "Which tool?",
		"run nothing":             "no tool “nothing”",
		"run lst":                 "Did you mean mcp__shop__list?",
		"run list max=three":      "Argument max: want integer, not “three”",
		"run list max=1.5":        "Argument max: want integer",
		"run list all=yes":        "Argument all: want boolean",
		"run list tags=[1":        "Argument tags: want JSON",
		"run list tags=[1]2":      "Argument tags: something stands right behind",
		`run list note="open`:     "quotes of argument note are not closed",
		"run list max=1 max=2":    "Argument max is there twice",
		"run list size=1":         "The tool has no argument size; it takes:",
		"run list three":          "“three” is no argument",
		"run list {":              "no JSON object",
		`run list {"a":1,"a":2}`:  "no JSON object",
		"run refund amount=1":     "Argument order is missing",
		`run refund {"amount":1}`: "Argument order is missing",
		"run @other list":         "no member of an agent other",
	} {
		contains(t, w.says("gus", line), want, "Usage: run")
	}
	if ran := w.shop.calls(); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
}

func TestAGatedRunWaitsAndItsResultComesByItself(t *testing.T) {
	w := newWorld(t)
	gus := w.member("chat", "gus", policy.Guest, "main")
	w.owner("ann")
	w.types("gus", "run refund order=0042 amount=49.90")
	w.hears("gus", "Waiting for approval: request #1")
	if ran := w.shop.calls(); len(ran) != 0 {
		t.Fatalf("ran %v before the answer", ran)
	}
	r := must(approvals.GetShort(w.ctx, w.pool, "main", 1))
	if r.RequesterID != gus || string(r.ArgsBytes) != `{"order":"0042","amount":49.90}` {
		t.Errorf("asked %s by %s", r.ArgsBytes, r.RequesterID)
	}
	contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveCall)), "Approved once")
	w.hears("gus", "Request #1", "was approved")
	w.hears("gus", "✅ mcp__shop__refund", "done: {'order':'0042'")
	if n := len(w.shop.calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
	w.poll("the end stored", func() bool { return w.now(r).FinishedAt != nil })
	w.shop.mu.Lock()
	defer w.shop.mu.Unlock()
	if w.shop.waited != r.ID {
		t.Errorf("the call had waited for %q", w.shop.waited)
	}
}

func TestARunThatNobodyCanAnswerSaysSo(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	w.types("gus", "run refund order=1")
	w.hears("gus", "Waiting for approval: request #1", "Nobody who may answer can be reached by chat at the moment.")
}

func TestARejectedRunEndsWithoutASecondWord(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	w.owner("ann")
	w.types("gus", "run refund order=1")
	w.hears("gus", "Waiting for approval: request #1")
	w.says("ann", "reject 1 no such order")
	w.hears("gus", "Request #1", "rejected by Ann", "no such order")
	w.poll("the call done", func() bool { return w.callState("done") == 1 })
	if ran := w.shop.calls(); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
}

func (w *world) callState(state string) (n int) {
	w.t.Helper()
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM chat_calls WHERE state = $1`, state).Scan(&n))
	return n
}

// A process that dies after the call was noted as sent leaves the job running;
// River gives it to another attempt, as here.
func TestACallThatWasSentIsNeverSentAgain(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	block, sent := make(chan struct{}), make(chan struct{}, 1)
	defer close(block)
	w.shop.during = func(string) { sent <- struct{}{}; <-block }
	w.types("gus", "run list max=1")
	select {
	case <-sent:
	case <-w.ctx.Done():
		t.Fatal("never sent")
	}
	w.exec(`UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'bot_call'`)
	w.hears("gus", "mcp__shop__list", "outcome is unknown", "may have run")
	if n := len(w.shop.calls()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestALongResultComesInOrderOrAsAFile(t *testing.T) {
	files := withFiles{newRecorder("files")}
	w := idleWorld(t, files)
	w.chat.limits.Total, files.limits.Total = 400, 400
	w.start()
	for _, ch := range []*recorder{w.chat, files.recorder} {
		w.member(ch.namespace, "gus", policy.Guest, "main")
		ev := bot.Event{Kind: bot.Text, Identity: "gus", Direct: true, Text: "run text n=400"}
		if err := w.bot.Store(w.ctx, ch.namespace, bot.Incoming{ID: "1", Payload: must(json.Marshal(ev))}); err != nil {
			t.Fatal(err)
		}
	}
	w.see("all parts in order", func() bool {
		var all strings.Builder
		for _, m := range w.chat.messages {
			all.WriteString(m.card.Head)
		}
		return all.String() == "✅ mcp__shop__text\n"+strings.Repeat("word ", 400)+"end"
	})
	if !files.until(w.ctx, func() bool { return len(files.files) == 1 }) {
		t.Fatal("no file came")
	}
	if f := files.files[0]; f.name != "result.txt" || !strings.HasSuffix(f.data, "word end") || len(files.messages) != 0 {
		t.Errorf("file %s with %d bytes, %d messages", f.name, len(f.data), len(files.messages))
	}
}

// asksElsewhere puts the call of "run refund order=1" from another session of a person.
func (w *world) asksElsewhere(user string) approvals.Request {
	w.t.Helper()
	return must(w.svc.Ask(w.ctx, approvals.Call{
		Session:       session.Session{ID: "key:elsewhere", AgentID: "main", Kind: session.Key, RequesterID: user},
		RequesterName: "Gus", ResourceType: "tool", ResourceKey: "mcp__shop__refund", Args: must(policy.ParseArgs([]byte(`{"order":"1"}`))),
		Rule: policy.Row{ID: "rule", AgentID: "main", ResourceType: "tool", ResourceKey: "mcp__shop__refund", Version: 1, Effect: policy.RequireApproval},
	}))
}

// TestARunThatSharesAQuestionSharesItsEnd: what is typed was asked for in another
// session before.
func TestARunThatSharesAQuestionSharesItsEnd(t *testing.T) {
	for end, c := range map[string]struct {
		end   func(w *world, ann string, q approvals.Request)
		hears []string
		calls int
	}{
		"approved":        {func(w *world, ann string, q approvals.Request) { w.decide(q, ann, true) }, []string{"✅ mcp__shop__refund"}, 1},
		"rejected":        {func(w *world, ann string, q approvals.Request) { w.decide(q, ann, false) }, []string{"Request #1", "rejected by Ann"}, 0},
		"taken back":      {func(w *world, _ string, _ approvals.Request) { w.says("ann", "cancel 1") }, []string{"Request #1", "cancelled by Ann"}, 0},
		"taken out of it": {func(w *world, _ string, _ approvals.Request) { w.says("ann", "cancel 2") }, []string{"Request #2", "cancelled by Ann"}, 0},
	} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t)
			gus := w.member("chat", "gus", policy.Guest, "main")
			ann := w.owner("ann")
			q := w.asksElsewhere(gus)
			w.types("gus", "run refund order=1")
			w.hears("gus", "Waiting for approval: request #2")
			for who, command := range map[string]string{"gus": "requests", "ann": "pending"} {
				if text := w.says(who, command); !strings.HasPrefix(text, "#1") || !strings.HasSuffix(text, "asked 2 times") || strings.Contains(text, "#2") {
					t.Errorf("%s: %q", command, text)
				}
			}
			c.end(w, ann, q)
			w.hears("gus", c.hears...)
			w.poll("the call done", func() bool { return w.callState("done") == 1 })
			if n := len(w.shop.calls()); n != c.calls {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// TestTheRunOfWhoIsGoneEnds: the last account of who typed it was taken from them,
// so that nobody is told; it does not wait for ever.
func TestTheRunOfWhoIsGoneEnds(t *testing.T) {
	for _, approve := range []bool{true, false} {
		t.Run(fmt.Sprintf("approved=%v", approve), func(t *testing.T) {
			w := newWorld(t)
			gus := w.member("chat", "gus", policy.Guest, "main")
			ann := w.owner("ann")
			w.types("gus", "run refund order=1")
			w.hears("gus", "Waiting for approval: request #1")
			w.tx(func(tx pgx.Tx) error {
				return identity.RemoveIdentity(w.ctx, tx, gus, identity.Address{Channel: "chat", Identity: "gus"}, false, "test")
			})
			w.decide(must(approvals.GetShort(w.ctx, w.pool, "main", 1)), ann, approve)
			w.poll("the call done", func() bool { return w.callState("done") == 1 })
			if ran := w.shop.calls(); len(ran) != 0 {
				t.Errorf("ran %v", ran)
			}
		})
	}
}
