package bot_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/bot"
)

// broken is a channel whose token is refused.
type broken struct{ *recorder }

func (broken) Run(context.Context, bot.Inbox) error { return bot.ErrSetup }

func (broken) LinkFor(_ context.Context, token string) (link, hint string) {
	return "https://chat.test/" + token, "send: link " + token
}

func TestAChannelThatCannotWorkLeavesTheOthersAlone(t *testing.T) {
	w := idleWorld(t, broken{newRecorder("bad")})
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error)
	go func() { done <- w.bot.Run(ctx) }()
	w.poll("the failure shown", func() bool { return !w.bot.States()[0].Connected })
	want := []bot.ChannelState{
		{Namespace: "bad", AgentID: "main", Health: bot.Health{Error: bot.ErrSetup.Error()}},
		{Namespace: "chat", AgentID: "main", Health: bot.Health{Connected: true}},
	}
	if diff := cmp.Diff(want, w.bot.States()); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
	select {
	case err := <-done:
		t.Fatalf("the bot stopped: %v", err)
	default:
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestLinksNameTheChannelsThatHaveAny(t *testing.T) {
	w := idleWorld(t, broken{newRecorder("bad")})
	want := map[string]bot.Link{"bad": {URL: "https://chat.test/tok", Hint: "send: link tok"}}
	if diff := cmp.Diff(want, w.bot.Links(w.ctx, "tok")); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	if _, err := bot.New(bot.Config{}); err == nil {
		t.Error("an empty configuration was accepted")
	}
	w := idleWorld(t)
	c := w.bot.Config
	c.Channels = append(c.Channels, newRecorder("chat"))
	if _, err := bot.New(c); err == nil {
		t.Error("two channels of one namespace were accepted")
	}
	c = w.bot.Config
	c.Agent = ""
	if _, err := bot.New(c); err == nil {
		t.Error("a bot of no agent was accepted")
	}
}
