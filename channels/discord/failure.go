package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// codeNoMutualGuild: the person shares no server with the bot, nor installed it.
const codeNoMutualGuild = 50278

// kinds tells what Discord's error codes mean for a delivery
// (docs.discord.com/developers/topics/opcodes-and-status-codes#json). A code
// that is not here is transient: the job tries again.
var kinds = map[int]error{
	discordgo.ErrCodeUnknownChannel:                                   bot.ErrUnreachable,
	discordgo.ErrCodeUnknownUser:                                      bot.ErrUnreachable,
	discordgo.ErrCodeMissingAccess:                                    bot.ErrUnreachable,
	discordgo.ErrCodeCannotSendMessagesToThisUser:                     bot.ErrUnreachable,
	discordgo.ErrCodeMissingPermissions:                               bot.ErrUnreachable,
	discordgo.ErrCodeCannotSendMessagesInVoiceChannel:                 bot.ErrUnreachable,
	discordgo.ErrCodeInvalidRecipients:                                bot.ErrUnreachable,
	discordgo.ErrCodePerformedOperationOnArchivedThread:               bot.ErrUnreachable,
	discordgo.ErrCodeThreadIsLocked:                                   bot.ErrUnreachable,
	discordgo.ErrCodeCannotReplyWithoutPermissionToReadMessageHistory: bot.ErrUnreachable,
	codeNoMutualGuild:                                                 bot.ErrUnreachable,
	discordgo.ErrCodeUnknownMessage:                                   bot.ErrGone,
	discordgo.ErrCodeCannotEditFromAnotherUser:                        bot.ErrGone,
	discordgo.ErrCodeCannotExecuteActionOnSystemMessage:               bot.ErrGone,
	discordgo.ErrCodeInvalidAuthenticationToken:                       bot.ErrSetup,
}

// later are the codes that ask to come again, without saying when.
var later = map[int]bool{
	discordgo.ErrCodeThisActionCannotBePerformedDueToSlowmodeRateLimit:     true,
	discordgo.ErrCodeChannelHasHitWriteRateLimit:                           true,
	discordgo.ErrCodeOpeningDirectMessagesTooFast:                          true,
	discordgo.ErrCodeMaximumNumberOfEditsToMessagesOlderThanOneHourReached: true,
}

const whenLater = time.Minute

// refusal is an answer that was no success.
type refusal struct {
	doing        string
	status, code int
	text         string
}

func (e *refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("discord: %s: %d %d %s", e.doing, e.status, e.code, e.text))
}

// Unwrap gives the kind of failure, nil for nothing special. A token of an
// interaction that is over is refused with 401 too, but has a code.
func (e *refusal) Unwrap() error {
	if e.status == http.StatusUnauthorized && e.code != discordgo.ErrCodeInvalidWebhookTokenProvided {
		return bot.ErrSetup
	}
	return kinds[e.code]
}

// refused explains such an answer. Texts of Discord hold no secrets.
func (c *Channel) refused(doing string, status int, answer []byte, l limit) error {
	var body discordgo.APIErrorMessage
	_ = json.Unmarshal(answer, &body) // a proxy's page has no code
	err := &refusal{doing: doing, status: status, code: body.Code, text: c.redact(body.Message)}
	switch {
	case status == http.StatusTooManyRequests:
		return &bot.RetryError{After: l.after, Err: err}
	case later[body.Code]:
		return &bot.RetryError{After: whenLater, Err: err}
	}
	return err
}

// unanswered explains a call without an answer. The address is left out: it may
// hold the token of an interaction.
func (c *Channel) unanswered(doing string, err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return fmt.Errorf("discord: %s: %w", doing, end)
		}
	}
	if at := new(url.Error); errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("discord: %s: %s", doing, c.redact(err.Error()))
}

// refusedWith tells whether err is a refusal with one of codes.
func refusedWith(err error, codes ...int) bool {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if r.code == code {
			return true
		}
	}
	return false
}

// longestText keeps pages of broken proxies out of logs and job rows.
const longestText = 300

// redact is text of others without the token, on one line and short.
func (c *Channel) redact(text string) string {
	text = strings.ReplaceAll(text, c.token, "[token]")
	runes := []rune(bot.VisibleLine(strings.Join(strings.Fields(text), " ")))
	if len(runes) > longestText {
		return string(runes[:longestText]) + "…"
	}
	return string(runes)
}
