package telegram

import (
	"errors"
	"testing"
	"time"

	"holm/bot"
)

func TestPacerForgetsIdleChatsAndKeepsBusyOnes(t *testing.T) {
	p, now := newPacer(), time.Now()
	p.obey(1, &bot.RetryError{After: time.Hour})
	for chat := int64(2); chat < 3*maxChats; chat++ {
		now = now.Add(100 * time.Millisecond)
		if _, err := p.reserve(chat, now); err != nil {
			t.Fatalf("chat %d: %v", chat, err)
		}
	}
	if len(p.chats) > maxChats {
		t.Errorf("%d chats are remembered", len(p.chats))
	}
	var busy *bot.RetryError
	if _, err := p.reserve(1, now); !errors.As(err, &busy) || busy.After < 30*time.Minute {
		t.Errorf("the limit of a busy chat was forgotten: %v", err)
	}
}

func TestPacerStaysBoundedWhenAllChatsAreBusy(t *testing.T) {
	p := newPacer()
	for chat := int64(1); chat < 2*maxChats; chat++ {
		p.obey(chat, &bot.RetryError{After: time.Hour})
	}
	if len(p.chats) > maxChats {
		t.Errorf("%d chats are remembered", len(p.chats))
	}
}

func TestPacerKnowsGroups(t *testing.T) {
	p, now := newPacer(), time.Now()
	for _, c := range []struct {
		chat int64
		want time.Duration
	}{{5, time.Second}, {-5, 3 * time.Second}} {
		for range burst {
			if delay, err := p.reserve(c.chat, now); err != nil || delay != 0 {
				t.Fatalf("within the burst: %v, %v", delay, err)
			}
		}
		if delay, err := p.reserve(c.chat, now); err != nil || delay.Round(time.Millisecond) != c.want {
			t.Errorf("chat %d: %v, %v", c.chat, delay, err)
		}
	}
}
