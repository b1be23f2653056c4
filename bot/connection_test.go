package bot_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"holm/bot"
	"holm/internal/identity"
	"holm/policy"
)

// shelf is where tests store channels.
type shelf struct {
	mu   sync.Mutex
	list []bot.Stored
}

func (s *shelf) put(list ...bot.Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *shelf) read(context.Context) ([]bot.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list, nil
}

// watched is a channel that tells when it runs and when it has stopped.
type watched struct {
	*recorder
	runs, stopped chan struct{}
}

func newWatched(namespace string) *watched {
	return &watched{newRecorder(namespace), make(chan struct{}), make(chan struct{})}
}

func (c *watched) Run(ctx context.Context, _ bot.Inbox) error {
	close(c.runs)
	<-ctx.Done()
	close(c.stopped)
	return nil
}

func (c *watched) stored(version string) bot.Stored {
	return bot.Stored{Namespace: c.namespace, AgentID: "second", Version: version, Open: func() (bot.Channel, error) { return c, nil }}
}

// TestStoredChannelsComeAndGo: what operators add is run at once, another
// version takes its place, and what they remove stops; the settings' stay.
func TestStoredChannelsComeAndGo(t *testing.T) {
	w := idleWorld(t)
	shelf := &shelf{}
	c := w.bot.Config
	c.Stored = shelf.read
	b := must(bot.New(c))
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	waits := func(what string, ch chan struct{}) {
		t.Helper()
		select {
		case <-ch:
		case <-w.ctx.Done():
			t.Fatalf("in vain: %s", what)
		}
	}
	set := func(list ...bot.Stored) {
		shelf.put(list...)
		w.bot.Hub.Publish(identity.ChannelsChanged)
	}

	first, second, rival := newWatched("added"), newWatched("added"), newWatched("chat")
	set(first.stored("1"), rival.stored("1"))
	waits("the first runs", first.runs)
	states := b.States()
	if len(states) != 2 || states[0].Namespace != "added" || !states[0].Stored || states[0].AgentID != "second" || states[1].Stored {
		t.Errorf("states: %+v", states)
	}
	set(second.stored("2"))
	waits("the first stopped", first.stopped)
	waits("the second runs", second.runs)
	set()
	waits("the second stopped", second.stopped)
	select {
	case <-rival.runs:
		t.Error("a stored channel took the place of the settings' one")
	default:
	}
	third := newWatched("added")
	set(third.stored("3"))
	waits("the third runs", third.runs)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	waits("the third stopped", third.stopped)
}

// slow is a channel that takes its time to connect.
type slow struct {
	*watched
	connected atomic.Bool
}

func (c *slow) Health() bot.Health { return bot.Health{Connected: c.connected.Load()} }

// TestAChangedChannelLeavesNoGap: the former one receives until the next one
// does; what is sent meanwhile goes through the next. One that cannot be opened
// changes nothing.
func TestAChangedChannelLeavesNoGap(t *testing.T) {
	w := idleWorld(t)
	shelf := &shelf{}
	w.bot.Stored = shelf.read
	w.start()
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- w.bot.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	waits := func(what string, ch chan struct{}) {
		t.Helper()
		select {
		case <-ch:
		case <-w.ctx.Done():
			t.Fatalf("in vain: %s", what)
		}
	}
	refresh := func(list ...bot.Stored) {
		t.Helper()
		shelf.put(list...)
		if err := w.bot.Refresh(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
	first, second := newWatched("added"), &slow{watched: newWatched("added")}
	refresh(first.stored("1"))
	waits("the first runs", first.runs)
	refresh(bot.Stored{Namespace: "added", Version: "2", Open: func() (bot.Channel, error) { return nil, errors.New("bad secrets") }})
	next := second.stored("3")
	next.Open = func() (bot.Channel, error) { return second, nil }
	refresh(next)
	waits("the second runs", second.runs)
	select {
	case <-first.stopped:
		t.Error("nobody receives")
	default:
	}
	w.member("added", "olga", policy.Owner, "main")
	r := w.ask(`{}`)
	w.chat = second.recorder
	w.card("olga", r)
	second.connected.Store(true)
	waits("the first stopped", first.stopped)
	refresh(next)
	select {
	case <-second.stopped:
		t.Error("a channel that did not change was stopped")
	default:
	}
	cancel()
	done <- <-done // Run has ended
	refresh(newWatched("added").stored("4"))
}

func TestACardFindsAChannelStoredAMomentAgo(t *testing.T) {
	w := idleWorld(t)
	added := newRecorder("added")
	w.bot.Stored = (&shelf{list: []bot.Stored{{
		Namespace: "added", AgentID: "main", Version: "1", Open: func() (bot.Channel, error) { return added, nil },
	}}}).read
	w.member("added", "olga", policy.Owner, "main")
	w.start()
	r := w.ask(`{}`)
	w.chat = added
	w.card("olga", r)
}

// TestWhatWaitsIsSentOnceTheChannelIsThere: a question asked before the channel
// was added reaches its people all the same.
func TestWhatWaitsIsSentOnceTheChannelIsThere(t *testing.T) {
	w := idleWorld(t)
	shelf, added := &shelf{}, newRecorder("added")
	w.bot.Stored = shelf.read
	w.start()
	w.member("added", "olga", policy.Owner, "main")
	r := w.ask(`{}`)
	w.poll("the card reaches nobody", func() bool {
		state, _, _ := w.delivery("olga", r)
		return state == "unreachable"
	})
	shelf.put(bot.Stored{Namespace: "added", AgentID: "main", Version: "1", Open: func() (bot.Channel, error) { return added, nil }})
	if err := w.bot.Refresh(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.chat = added
	w.card("olga", r)
}
