package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tg "github.com/go-telegram/bot"

	"holm/bot"
)

// Refusals that only this package tells apart.
var (
	errNotModified = errors.New("the message already shows this")
	errParse       = errors.New("the formatting was refused")
	errTooLong     = errors.New("the text was refused as too long")
	errTooOld      = errors.New("the tap is too old to be answered")
	errTopic       = errors.New("the topic is closed or gone")
)

// refusals maps words of a 400 to what they mean. Telegram has no finer codes.
var refusals = []struct {
	words string
	means error
}{
	{"message is not modified", errNotModified},
	{"can't parse entities", errParse},
	{"entity_bounds_invalid", errParse},
	{"entity_text_invalid", errParse},
	{"message is too long", errTooLong},
	{"text is too long", errTooLong},
	{"message_too_long", errTooLong},
	{"query is too old", errTooOld},
	{"query id is invalid", errTooOld},
	{"query_id_invalid", errTooOld},
	{"message thread not found", errTopic},
	{"topic_closed", errTopic},
	{"topic_deleted", errTopic},
	{"topic_id_invalid", errTopic},
	{"message to edit not found", bot.ErrGone},
	{"message can't be edited", bot.ErrGone},
	{"message_id_invalid", bot.ErrGone},
	{"there is no text in the message to edit", bot.ErrGone},
	{"chat not found", bot.ErrUnreachable},
	{"user not found", bot.ErrUnreachable},
	{"peer_id_invalid", bot.ErrUnreachable},
	{"user is deactivated", bot.ErrUnreachable},
	{"input_user_deactivated", bot.ErrUnreachable},
	{"user_is_blocked", bot.ErrUnreachable},
	{"chat_write_forbidden", bot.ErrUnreachable},
	{"chat_restricted", bot.ErrUnreachable},
	{"have no rights to send a message", bot.ErrUnreachable},
}

// explain turns a failure of the client library into one of bot's kinds, or a
// plain, transient error. The text never holds the token.
func (c *Channel) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	kind := kindOf(err)
	text := fmt.Sprintf("telegram: %s: %s", doing, c.redact(err))
	if retry, ok := kind.(*bot.RetryError); ok {
		return &bot.RetryError{After: retry.After, Err: errors.New(text)}
	}
	return &failure{text: text, kind: kind}
}

// kindOf finds what a failure means to callers, nil for nothing special.
func kindOf(err error) error {
	var busy *tg.TooManyRequestsError
	var moved *tg.MigrateError
	switch {
	case errors.As(err, &busy):
		return &bot.RetryError{After: time.Duration(max(busy.RetryAfter, 1)) * time.Second}
	case errors.As(err, &moved):
		return bot.ErrUnreachable
	case errors.Is(err, tg.ErrorForbidden):
		return bot.ErrUnreachable
	case errors.Is(err, tg.ErrorUnauthorized), errors.Is(err, tg.ErrorNotFound):
		return bot.ErrSetup
	case errors.Is(err, tg.ErrorBadRequest):
		return meaningOf(err.Error())
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return nil
}

func meaningOf(text string) error {
	text = strings.ToLower(text)
	for _, r := range refusals {
		if strings.Contains(text, r.words) {
			return r.means
		}
	}
	return nil
}

// failure is an error with a kind and a text that is safe to show. The original
// is not kept: its fields may hold the address, which holds the token.
type failure struct {
	text string
	kind error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }

func isTooOld(err error) bool { return errors.Is(err, errTooOld) }

// maxErrorText keeps pages of broken proxies out of logs and job rows.
const maxErrorText = 300

// redact is the text of err without the token, on one line and short.
func (c *Channel) redact(err error) string {
	text := strings.ReplaceAll(err.Error(), c.token, "***")
	if _, secret, ok := strings.Cut(c.token, ":"); ok {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = bot.VisibleLine(strings.Join(strings.Fields(text), " "))
	if len([]rune(text)) > maxErrorText {
		text = cutTo(text, maxErrorText)
	}
	return text
}

func (c *Channel) logClientError(err error) {
	c.log.Warn("telegram client", "error", c.redact(err))
}
