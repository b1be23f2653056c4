package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// kinds tells what Slack's error codes mean for a delivery
// (docs.slack.dev/reference/methods: the "Errors" table of each method). A
// code that is not here is transient: the job tries again.
var kinds = map[string]error{
	"user_not_found":          bot.ErrUnreachable,
	"users_not_found":         bot.ErrUnreachable,
	"user_not_visible":        bot.ErrUnreachable,
	"user_disabled":           bot.ErrUnreachable,
	"cannot_dm_bot":           bot.ErrUnreachable,
	"channel_not_found":       bot.ErrUnreachable,
	"not_in_channel":          bot.ErrUnreachable,
	"user_not_in_channel":     bot.ErrUnreachable,
	"is_archived":             bot.ErrUnreachable,
	"messages_tab_disabled":   bot.ErrUnreachable,
	"restricted_action":       bot.ErrUnreachable,
	"not_enabled":             bot.ErrUnreachable, // the app's page is switched off
	"message_not_found":       bot.ErrGone,
	"cant_update_message":     bot.ErrGone,
	"edit_window_closed":      bot.ErrGone,
	"not_authed":              bot.ErrSetup,
	"invalid_auth":            bot.ErrSetup,
	"account_inactive":        bot.ErrSetup,
	"token_revoked":           bot.ErrSetup,
	"token_expired":           bot.ErrSetup,
	"missing_scope":           bot.ErrSetup,
	"not_allowed_token_type":  bot.ErrSetup,
	"no_permission":           bot.ErrSetup,
	"team_access_not_granted": bot.ErrSetup,
}

// unanswerable are the codes that mean a tap can no longer be answered
// privately; nobody can do anything about it.
var unanswerable = map[string]bool{
	"channel_not_found": true, "not_in_channel": true, "user_not_in_channel": true,
	"is_archived": true, "messages_tab_disabled": true, "restricted_action": true,
	"user_not_found": true, "user_disabled": true,
}

// layoutRefused are the codes that mean the blocks, not the message, were
// refused.
var layoutRefused = map[string]bool{
	"invalid_blocks": true, "invalid_blocks_format": true, "msg_blocks_too_long": true, "msg_too_long": true,
}

// code is Slack's error code in err, empty for other failures.
func code(err error) string {
	var refused slackgo.SlackErrorResponse
	if errors.As(err, &refused) {
		return refused.Err
	}
	return ""
}

// outcome is failure that also notes for operators whether the app's set-up
// lets it call method: a scope may be missing for one and not for the others.
func (c *Channel) outcome(method string, err error) error {
	if err == nil {
		c.link.allowed(method)
		return nil
	}
	err = c.failure(method, err)
	if errors.Is(err, bot.ErrSetup) {
		c.link.forbidden(method, err)
	}
	return err
}

// failure translates what slack-go returned for method. The result holds no
// token, no address with a ticket in it and no text of a message.
func (c *Channel) failure(method string, err error) error {
	var limited *slackgo.RateLimitedError
	var refused slackgo.SlackErrorResponse
	switch {
	case errors.As(err, &limited):
		return &bot.RetryError{After: max(limited.RetryAfter, time.Second), Err: fmt.Errorf("slack: %s", method)}
	case errors.As(err, &refused):
		return c.refusal(method, refused)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("slack: %s: %w", method, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("slack: %s: %w", method, context.DeadlineExceeded)
	}
	return fmt.Errorf("slack: %s: %s", method, c.redact(cause(err).Error()))
}

// refusal translates an answer with "ok": false.
func (c *Channel) refusal(method string, r slackgo.SlackErrorResponse) error {
	text := r.Err
	if r.Needed != "" {
		text += " (the app needs the scope " + r.Needed + ")"
	}
	if len(r.ResponseMetadata.Messages) > 0 {
		text += ": " + r.ResponseMetadata.Messages[0]
	}
	text = c.redact(text)
	if kind, ok := kinds[r.Err]; ok {
		return fmt.Errorf("slack: %s: %s: %w", method, text, kind)
	}
	if r.Err == "ratelimited" || r.Err == "rate_limited" {
		return &bot.RetryError{After: time.Minute, Err: fmt.Errorf("slack: %s", method)}
	}
	return fmt.Errorf("slack: %s: %s", method, text)
}

// cause leaves out the address that an *url.Error carries.
func cause(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

var (
	tokenLike = regexp.MustCompile(`\b(xox[a-z]|xoxe\.xox[a-z]|xapp)-[A-Za-z0-9-]+`)
	addressed = regexp.MustCompile(`\b(https?|wss?)://[^\s"]+`)
)

// redact takes tokens and addresses out of text that others made.
func (c *Channel) redact(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "[token]")
	}
	text = tokenLike.ReplaceAllString(text, "[token]")
	return addressed.ReplaceAllString(text, "[address]")
}
