package console

import (
	"bufio"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"holm/bot"
)

// maxLine is the longest line read; a longer one ends the input.
const maxLine = 64 << 10

// Run implements bot.Channel: it reads lines until ctx ends. After the end of
// the input it goes on as a display. A read that cannot be interrupted, as of a
// terminal, keeps its goroutine until the next line or the end of the process.
func (c *Channel) Run(ctx context.Context, in bot.Inbox) error {
	c.setConnected(true)
	defer c.setConnected(false)
	lines := make(chan string)
	c.deadline(time.Time{})
	go c.read(ctx, lines)
	defer func() { c.deadline(time.Now()) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.pressed:
			c.storePending(ctx, in)
		case line, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			c.typed(ctx, in, line)
		}
	}
}

func (c *Channel) setConnected(connected bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.Connected = connected
}

func (c *Channel) read(ctx context.Context, lines chan<- string) {
	defer close(lines)
	scanner := bufio.NewScanner(c.in)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		select {
		case lines <- strings.TrimSpace(scanner.Text()):
		case <-ctx.Done():
			return
		}
	}
}

// deadline ends a read in progress, or lets the next begin, where the input can
// do that.
func (c *Channel) deadline(at time.Time) {
	if in, ok := c.in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = in.SetReadDeadline(at) // an input without deadlines is waited for by nobody
	}
}

// typed presses a button of the newest open card, or passes a text on. What may be
// meant for the card, and is none of its keys, decides nothing, and says so.
func (c *Channel) typed(ctx context.Context, in bot.Inbox, line string) {
	key, rest, _ := strings.Cut(line, " ")
	key, rest = strings.ToLower(key), strings.TrimSpace(rest)
	switch open := c.openKeys(); {
	case line == "":
	case isKey(key) && (rest == "" || key == rejectKey):
		token, ok := c.newest(key)
		if !ok {
			_ = c.Answer(ctx, bot.Event{}, "There is no open card with that button.")
			return
		}
		c.store(ctx, in, event{Token: token, Text: rest})
	case open != "" && isKey(key):
		_ = c.Answer(ctx, bot.Event{}, "Nothing is decided: send the letter alone, or r with a reason.")
	case open != "" && rest == "" && len([]rune(key)) <= longestSlip:
		_ = c.Answer(ctx, bot.Event{}, "“"+line+"” is no button of the open card, and nothing is decided. Its letters: "+open)
	default:
		c.store(ctx, in, event{Text: line})
	}
}

// rejectKey may be followed by a reason.
const rejectKey = "r"

// longestSlip is how long a single word may be that is taken for a slip of the
// finger, while a card waits: no command of the bot is as short.
const longestSlip = 2

// openKeys are the keys of the newest open card; empty where none is open.
func (c *Channel) openKeys() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cards) == 0 {
		return ""
	}
	return keysOf(c.cards[len(c.cards)-1].buttons)
}

func (c *Channel) newest(key string) (token string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cards) == 0 {
		return "", false
	}
	return tokenFor(c.cards[len(c.cards)-1].buttons, key)
}

// storePending keeps what Auto has pressed. Nobody would press again, so it is
// tried until it succeeds.
func (c *Channel) storePending(ctx context.Context, in bot.Inbox) {
	for _, token := range c.takePending() {
		for !c.store(ctx, in, event{Token: token}) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}
}

func (c *Channel) takePending() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens := c.pending
	c.pending = nil
	return tokens
}

// store keeps an event under an id that no other run of the program gives.
// What cannot be stored is told to the person, who can press again.
func (c *Channel) store(ctx context.Context, in bot.Inbox, e event) bool {
	payload, err := json.Marshal(e)
	if err == nil {
		err = in.Store(ctx, namespace, bot.Incoming{ID: uuid.Must(uuid.NewV7()).String(), Payload: payload})
	}
	if err != nil {
		_ = c.Answer(ctx, bot.Event{}, "This could not be recorded. Please try again.")
		return false
	}
	c.received(time.Now())
	return true
}
