package bot

import (
	"sync"
	"time"

	"github.com/riverqueue/river"

	"holm/internal/identity"
)

const (
	// maxTalk is how many texts of one person a process handles at one time.
	maxTalk = 5
	// talkPause lies between the texts of a person who writes more: about what a
	// chat takes replies in.
	talkPause = time.Second
)

// talkers keep whoever writes faster than their chat takes replies from holding
// all workers of TalkQueue, each of which waits for its turn in that chat.
type talkers struct {
	mu sync.Mutex
	by map[identity.Address]*talker
}

// talker is a person of whom something is being handled.
type talker struct {
	busy int
	next time.Time
}

func newTalkers() *talkers { return &talkers{by: map[identity.Address]*talker{}} }

// bounded runs do while its person has little in hand, and comes again later, in
// turn, when they have more.
func (t *talkers) bounded(who identity.Address, do func() error) error {
	if wait := t.enter(who, time.Now()); wait > 0 {
		return river.JobSnooze(wait)
	}
	defer t.leave(who)
	return do()
}

func (t *talkers) enter(who identity.Address, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.by[who]
	if p == nil {
		p = &talker{}
		t.by[who] = p
	}
	if p.busy < maxTalk {
		p.busy++
		return 0
	}
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(talkPause)
	return p.next.Sub(now)
}

func (t *talkers) leave(who identity.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.by[who]
	if p.busy--; p.busy == 0 {
		delete(t.by, who)
	}
}
