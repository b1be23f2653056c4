package bot_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/bot"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// attach makes a program of agent main listen.
func (w *world) attach() {
	w.t.Helper()
	if err := session.Attach(w.ctx, w.pool, "main"); err != nil {
		w.t.Fatal(err)
	}
}

// said lists the chat sessions of agent main, oldest first, with what was said.
func (w *world) said() (sessions []session.Session, texts []string) {
	w.t.Helper()
	list := must(session.List(w.ctx, w.pool, "main", "", 100))
	for i := len(list) - 1; i >= 0; i-- {
		sessions = append(sessions, list[i])
		for _, e := range must(session.Events(w.ctx, w.pool, "main", list[i].ID, 0, 100)) {
			var m session.Message
			if err := json.Unmarshal(e.Payload, &m); err != nil {
				w.t.Fatal(err)
			}
			texts = append(texts, e.Type+" "+m.Name+": "+m.Text)
		}
	}
	return sessions, texts
}

// answers lets the agent say something in a session.
func (w *world) answers(s session.Session, text string) {
	w.t.Helper()
	w.tx(func(tx pgx.Tx) error {
		_, err := session.Post(w.ctx, tx, w.bot.Jobs, s, identity.AgentRequester("main"), session.Message{Text: text})
		return err
	})
}

func TestTextGoesToTheAgentAndItsAnswerComesBack(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	w.attach()
	for range 2 { // redelivered
		w.storeAs("1", bot.Event{Kind: bot.Text, Identity: "gus", Direct: true, Text: "what is the  weather?\nin Oslo"})
	}
	w.poll("the text stored", func() bool { _, texts := w.said(); return len(texts) == 1 })
	sessions, texts := w.said()
	if diff := cmp.Diff([]string{"user_message Gus: what is the  weather?\nin Oslo"}, texts); diff != "" || sessions[0].Kind != session.Chat {
		t.Errorf("session %+v: %s", sessions[0], diff)
	}
	w.answers(sessions[0], strings.Repeat("rain ", 2000)+"end")
	w.see("the answer in parts", func() bool {
		var all strings.Builder
		for _, m := range w.chat.messages {
			all.WriteString(m.card.Head)
		}
		return all.String() == strings.Repeat("rain ", 2000)+"end"
	})

	contains(t, w.says("gus", "new"), "fresh conversation with agent main")
	w.types("gus", "say whoami")
	w.types("gus", "new shoes, please")
	w.poll("the texts stored", func() bool { _, texts := w.said(); return len(texts) == 4 })
	if sessions, _ := w.said(); len(sessions) != 2 || sessions[0].EndedAt == nil || sessions[1].EndedAt != nil {
		t.Errorf("sessions after new: %+v", sessions)
	}
}

func TestTextWithoutAProgramIsKeptAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	contains(t, w.says("gus", "hello there"), "No program of agent main listens now", "Send help")
	w.exec(`INSERT INTO agent_runtimes (agent_id, seen_at) VALUES ('main', now() - interval '1 minute')`)
	contains(t, w.says("gus", "requets"), "No program of agent main", "Did you mean: requests")
	contains(t, w.says("gus", "say"), "What should I say?")
	contains(t, w.says("gus", "say @other hello"), "no member of an agent other")
	if _, texts := w.said(); len(texts) != 2 {
		t.Errorf("stored %q", texts)
	}
	w.says("stranger", "hello")
	if _, texts := w.said(); len(texts) != 2 {
		t.Error("a stranger's text was stored")
	}
}

func TestOnlyThoseWhoTakePartPost(t *testing.T) {
	w := newWorld(t)
	gus := w.member("chat", "gus", policy.Guest, "main")
	uma := w.member("chat", "uma", policy.Owner, "main")
	w.says("gus", "hello")
	sessions, _ := w.said()
	for requester, ok := range map[string]bool{gus: true, uma: false, "": false, identity.AgentRequester("other"): false} {
		err := pgx.BeginFunc(w.ctx, w.pool, func(tx pgx.Tx) error {
			_, err := session.Post(context.Background(), tx, w.bot.Jobs, sessions[0], requester, session.Message{Text: "hi"})
			return err
		})
		if (err == nil) != ok {
			t.Errorf("%q posts: %v", requester, err)
		}
	}
}

// In a group the answer of the agent goes there, what a command tells does not.
func TestInAGroupOnlyWhatIsSaidThereIsAnsweredThere(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	w.owner("ann")
	w.attach()
	at := bot.MessageRef{Chat: "group", Message: "7", Thread: "7"}
	inGroup := func(who, text string) {
		w.store(bot.Event{Kind: bot.Text, Identity: who, Name: who, Text: text, Message: at})
	}
	sent := func(reply bot.MessageRef, text string) {
		t.Helper()
		w.see(text, func() bool {
			for _, m := range w.chat.messages {
				if m.to.ReplyTo == reply && strings.Contains(m.card.Head, text) {
					return true
				}
			}
			return false
		})
	}
	inGroup("gus", "whoami")
	sent(bot.MessageRef{}, "You are Gus")
	sent(at, "I answer in your own chat")

	inGroup("gus", "is anybody there?")
	w.poll("stored", func() bool { _, texts := w.said(); return len(texts) == 1 })
	inGroup("ann", "yes, me")
	w.poll("stored", func() bool { _, texts := w.said(); return len(texts) == 2 })
	sessions, _ := w.said()
	if len(sessions) != 2 || sessions[0].RequesterID == sessions[1].RequesterID {
		t.Fatalf("two speakers in sessions %+v", sessions)
	}
	for _, s := range sessions { // a program that answers one of them acts for that one
		who, _, err := session.OnBehalf(w.ctx, w.pool, identity.Caller{AgentID: "main", KeyPrefix: "k"}, s.ID)
		if err != nil || who.UserID != s.RequesterID || !who.OnBehalf {
			t.Errorf("in %s: %+v, %v", s.ID, who, err)
		}
	}
	w.answers(sessions[0], "I am here")
	sent(at, "I am here")

	w.chat.mu.Lock()
	w.chat.before = func(what string, c bot.Card) error {
		if strings.Contains(c.Head, "You are Gus") {
			return bot.ErrUnreachable
		}
		return nil
	}
	w.chat.mu.Unlock()
	inGroup("gus", "whoami")
	sent(at, "I cannot write to you")

	r := w.ask(`{}`) // cards never go to groups
	w.card("ann", r)
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if m := w.find("ann", "#1"); m.to.ReplyTo != (bot.MessageRef{}) {
		t.Errorf("a card went to %+v", m.to)
	}
}
