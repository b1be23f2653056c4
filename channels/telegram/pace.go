package telegram

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"holm/bot"
)

// Telegram's own figures, core.telegram.org/bots/faq#my-bot-is-hitting-limits:
// about one message a second in a chat, twenty a minute in a group, thirty a
// second in all. Short bursts are tolerated.
const (
	perChat  = rate.Limit(1)
	perGroup = rate.Limit(20.0 / 60)
	overall  = rate.Limit(30)
	burst    = 3

	// spare and spareOverall are messages that only cards may use: an approval
	// that somebody waits for goes before talk, in a chat and over all.
	spare        = 1
	spareOverall = 5

	// signPause lies between two signs in a chat, however much is typed there: apps
	// show one for five seconds.
	signPause = 3 * time.Second

	// maxHold is the longest wait inside a call; beyond it the caller is asked
	// to come again, so that no worker sleeps for a busy chat.
	maxHold = 3 * time.Second
	// breather is how long all chats rest after one was told to wait: the limit
	// over all is told in the same words. Longer would let a single flooded
	// chat hold back everybody's approvals.
	breather = time.Second
	// maxChats bounds the memory: idle chats are forgotten beyond it.
	maxChats = 4096
)

// pacer spaces messages out, per chat and over all, and remembers how long
// Telegram asked to leave a chat alone.
type pacer struct {
	mu    sync.Mutex
	all   *rate.Limiter
	until time.Time // the breather of all chats
	chats map[int64]*chatPace
	// noSigns is until when Telegram wants no signs that the bot is typing.
	noSigns time.Time
}

type chatPace struct {
	limiter *rate.Limiter
	until   time.Time // Telegram's retry_after
	signed  time.Time // when it was last shown that the bot is typing
}

func newPacer() *pacer {
	return &pacer{all: rate.NewLimiter(overall, int(overall)), chats: map[int64]*chatPace{}}
}

// wait blocks until a message to chat may go, or returns a *bot.RetryError when
// that would take too long. Nobody queues: who waits looks again, so an urgent
// message, which needs less room, is not behind the others.
func (p *pacer) wait(ctx context.Context, chat int64, urgent bool) error {
	latest := time.Now().Add(maxHold)
	for {
		delay, err := p.take(chat, urgent, time.Now(), latest)
		if err != nil || delay == 0 {
			return err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// take counts a message that may go now, and else tells when to look again.
func (p *pacer) take(chat int64, urgent bool, now, latest time.Time) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chat(chat, now)
	if left := c.until.Sub(now); left > 0 {
		return 0, &bot.RetryError{After: left, Err: errors.New("telegram: this chat is to be left alone")}
	}
	mine, total := 1.0, 1.0
	if !urgent {
		mine, total = mine+spare, total+spareOverall
	}
	delay := max(lacking(c.limiter, mine, now), lacking(p.all, total, now), p.until.Sub(now), 0)
	switch {
	case delay == 0:
		c.limiter.AllowN(now, 1)
		p.all.AllowN(now, 1)
		return 0, nil
	case now.Add(delay).After(latest):
		return 0, &bot.RetryError{After: delay, Err: errors.New("telegram: too many messages at once")}
	}
	return delay, nil
}

// takeSign tells whether a sign may go to a chat now: where it has been quiet, all
// of them have room, and it does not still show one. It is not counted as a message.
func (p *pacer) takeSign(chat int64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chat(chat, now)
	if c.until.After(now) || p.until.After(now) || p.noSigns.After(now) || now.Sub(c.signed) < signPause ||
		lacking(c.limiter, burst, now) > 0 || lacking(p.all, 1+spareOverall, now) > 0 {
		return false
	}
	c.signed = now
	return true
}

// obeySigns remembers a rate limit of signs, which holds up no message.
func (p *pacer) obeySigns(err error) {
	var busy *bot.RetryError
	if !errors.As(err, &busy) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noSigns = time.Now().Add(busy.After)
}

// lacking is how long a limiter takes to have n messages to give.
func lacking(l *rate.Limiter, n float64, now time.Time) time.Duration {
	missing := n - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/float64(l.Limit())*float64(time.Second)) + time.Microsecond
}

// chat finds or makes the pace of a chat, dropping idle ones when there are
// too many. Groups have negative ids.
func (p *pacer) chat(id int64, now time.Time) *chatPace {
	if c := p.chats[id]; c != nil {
		return c
	}
	if len(p.chats) >= maxChats {
		p.forgetIdle(now)
	}
	limit := perChat
	if id < 0 {
		limit = perGroup
	}
	c := &chatPace{limiter: rate.NewLimiter(limit, burst)}
	p.chats[id] = c
	return c
}

// forgetIdle drops chats that a new entry would treat alike, and any ones if
// these are too few to make room for a while: a message too early is answered
// with 429, which is obeyed.
func (p *pacer) forgetIdle(now time.Time) {
	for id, c := range p.chats {
		if c.limiter.TokensAt(now) >= burst && !c.until.After(now) {
			delete(p.chats, id)
		}
	}
	for id := range p.chats {
		if len(p.chats) < maxChats*3/4 {
			return
		}
		delete(p.chats, id)
	}
}

// obey remembers a rate limit in err, so that later calls do not run into it.
func (p *pacer) obey(chat int64, err error) {
	var busy *bot.RetryError
	if !errors.As(err, &busy) {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chat(chat, now).until = now.Add(busy.After)
	p.until = now.Add(min(busy.After, breather))
}
