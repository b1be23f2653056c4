package telegram

import (
	"errors"
	"testing"
	"time"

	"holm/bot"
)

func TestPacerForgetsIdleChatsAndKeepsBusyOnes(t *testing.T) {
	p := newPacer()
	p.obey(1, &bot.RetryError{After: time.Hour})
	now := time.Now().Add(breather)
	for chat := int64(2); chat < 3*maxChats; chat++ {
		now = now.Add(100 * time.Millisecond)
		if _, err := p.take(chat, true, now, now); err != nil {
			t.Fatalf("chat %d: %v", chat, err)
		}
	}
	if len(p.chats) > maxChats {
		t.Errorf("%d chats are remembered", len(p.chats))
	}
	var busy *bot.RetryError
	if _, err := p.take(1, true, now, now); !errors.As(err, &busy) || busy.After < 30*time.Minute {
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
			p.goes(t, c.chat, true, now)
		}
		p.waits(t, c.chat, true, now, c.want)
	}
}

// Fault 10 of the platform: one message a second in a chat, and approvals
// before talk.
func TestFault10CardsGoBeforeTalk(t *testing.T) {
	p, now := newPacer(), time.Now()
	p.goes(t, 5, false, now)
	p.goes(t, 5, false, now)
	p.waits(t, 5, false, now, time.Second) // the last one is not for talk
	p.goes(t, 5, true, now)
	p.waits(t, 5, true, now, time.Second)
	p.waits(t, 5, false, now, 2*time.Second)
	p.goes(t, 5, true, now.Add(time.Second+time.Millisecond))
}

func TestFault10TalkLeavesRoomOverAll(t *testing.T) {
	p, now := newPacer(), time.Now()
	for chat := range int64(int(overall) - spareOverall) {
		p.goes(t, 100+chat, false, now)
	}
	p.waits(t, 1, false, now, time.Second/30)
	for chat := range int64(spareOverall) {
		p.goes(t, 200+chat, true, now)
	}
	p.waits(t, 2, true, now, time.Second/30)
}

// Fault 9 of the platform: a chat is left alone for as long as Telegram says,
// and the others for a moment.
func TestFault09RetryAfterIsObeyed(t *testing.T) {
	p := newPacer()
	p.obey(5, &bot.RetryError{After: 240 * time.Second})
	now := time.Now()
	var busy *bot.RetryError
	if _, err := p.take(5, true, now, now.Add(time.Hour)); !errors.As(err, &busy) || busy.After < 230*time.Second {
		t.Errorf("the chat itself: %v", err)
	}
	if delay, err := p.take(6, true, now, now.Add(time.Hour)); err != nil || delay <= 0 || delay > breather {
		t.Errorf("another chat: %v, %v", delay, err)
	}
	p.goes(t, 6, true, now.Add(breather))
}

func (p *pacer) goes(t *testing.T, chat int64, urgent bool, now time.Time) {
	t.Helper()
	if delay, err := p.take(chat, urgent, now, now); err != nil || delay != 0 {
		t.Fatalf("chat %d: %v, %v", chat, delay, err)
	}
}

func (p *pacer) waits(t *testing.T, chat int64, urgent bool, now time.Time, want time.Duration) {
	t.Helper()
	if delay, err := p.take(chat, urgent, now, now.Add(time.Hour)); err != nil || delay.Round(time.Millisecond) != want.Round(time.Millisecond) {
		t.Errorf("chat %d: %v, want %v, %v", chat, delay, want, err)
	}
}

// TestSignsGoToQuietChatsAlone: a message that has just gone leaves no room, and
// signs themselves take none.
func TestSignsGoToQuietChatsAlone(t *testing.T) {
	p, now := newPacer(), time.Now()
	for i := range 100 {
		if p.takeSign(1, now) != (i == 0) {
			t.Fatalf("sign %d of a chat that shows the first", i)
		}
	}
	now = now.Add(signPause)
	if !p.takeSign(1, now) {
		t.Error("no further sign after a while")
	}
	now = now.Add(signPause)
	if _, err := p.take(1, false, now, now); err != nil {
		t.Fatal(err)
	}
	if p.takeSign(1, now) || !p.takeSign(2, now) || !p.takeSign(1, now.Add(2*time.Second)) {
		t.Error("a chat that was just written to has a sign, or one that is quiet has none")
	}
	now = now.Add(signPause)
	p.obeySigns(&bot.RetryError{After: time.Hour})
	if p.takeSign(2, now) {
		t.Error("a limit of signs is not obeyed")
	}
	if delay, err := p.take(2, false, now, now); delay != 0 || err != nil {
		t.Errorf("a limit of signs holds up a message: %v, %v", delay, err)
	}
}
