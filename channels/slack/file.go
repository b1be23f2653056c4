package slack

import (
	"bytes"
	"context"
	"errors"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// SendFile posts data as a file in the direct chat of to, in the thread of the
// message it belongs to (docs.slack.dev/messaging/working-with-files).
func (c *Channel) SendFile(ctx context.Context, to bot.Recipient, name string, data []byte, caption string) error {
	if len(data) == 0 {
		return errors.New("slack: an empty file")
	}
	user, err := c.user(ctx, to.Identity)
	if err != nil {
		return err
	}
	chat, _, err := c.directChat(ctx, user)
	if err != nil {
		return err
	}
	const method = "files.completeUploadExternal"
	if err := c.openFor(method); err != nil {
		return err
	}
	if err := c.pace(ctx, chat, false); err != nil {
		return err
	}
	_, err = c.api.UploadFileContext(ctx, slackgo.UploadFileParameters{
		Filename: name, Title: name, FileSize: len(data), Reader: bytes.NewReader(data),
		Channel: chat, InitialComment: escape(bot.VisibleLine(caption)), ThreadTimestamp: threadOf(to.ReplyTo, chat),
	})
	err = c.outcome(method, err)
	c.noteLimit(method, err)
	return err
}

// threadOf is the thread below the message that is replied to, if it stands in
// the same chat.
func threadOf(ref bot.MessageRef, chat string) string {
	if ref.Chat != chat {
		return ""
	}
	if ref.Thread != "" {
		return ref.Thread
	}
	return ref.Message
}
