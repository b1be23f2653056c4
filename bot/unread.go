package bot

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
)

// tellUnread tells a person that only text is read of what they sent, once a
// minute at most: a person's events come one after the other.
func (b *Bot) tellUnread(ctx context.Context, l line) error {
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE inbox
			SET unread_told_at = now()
			WHERE channel = $1
			  AND event_id = $2
			  AND NOT EXISTS (
			          SELECT
			          FROM inbox told
			          WHERE told.channel = $1
			            AND told.actor = inbox.actor
			            AND told.unread_told_at > now() - interval '1 minute')`, l.event.Channel, l.event.EventID)
		if err != nil {
			return fmt.Errorf("note what cannot be read: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		text := "I can read text alone: nobody sees what you sent. Write it, please."
		if l.ev.Text != "" {
			text = "I took the text of your message. Nobody sees what came with it: I can read text alone."
		}
		return b.queue(ctx, tx, noticeArgs{Channel: l.event.Channel, Identity: l.ev.Identity, Text: text, ReplyTo: l.thread()})
	})
}
