package bot

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
)

// adopt learns from a tap where a card is. A process that dies between the
// platform's answer and the commit leaves a card that nothing knows of; the
// tap on it proves where it stands, and from then on it is edited like others.
func (b *Bot) adopt(ctx context.Context, btn approvals.Button, at MessageRef) error {
	if at.Message == "" {
		return nil
	}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE card_deliveries
			SET state = 'sent',
			    chat = $2,
			    message = $3,
			    shown_version = 0,
			    shown_hash = '',
			    last_error = '',
			    sent_at = now()
			WHERE id = $1
			  AND (state <> 'sent' OR message = '') -- a list may show it so far`, btn.DeliveryID, at.Chat, at.Message)
		if err != nil {
			return fmt.Errorf("adopt card: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		return b.queue(ctx, tx, approvals.UpdateCardArgs{DeliveryID: btn.DeliveryID, Version: btn.Version})
	})
}

// closeDuplicate brings a second card of the same delivery, which such a crash
// can leave behind, to the state of its request. It is tried once: tapping the
// card again tries again. Later states are shown by the first card alone, and
// the second says so. Where the question is open, a card that a person has just
// used keeps its buttons.
func (b *Bot) closeDuplicate(ctx context.Context, ch Channel, deliveryID string, at MessageRef, used bool) {
	d, r, ok, err := readDelivery(ctx, b.Pool, deliveryID)
	if err != nil || !ok || at.Message == "" || d.ref() == at {
		return
	}
	card, _ := b.render(ch, d, r)
	unused := r.Status == approvals.Pending && !used
	if unused || r.Unclaimed() || r.Executing() {
		card.Notes = append(card.Notes, "This is a second copy of the card. The other one shows how it ends.")
	}
	if unused {
		card.Buttons = nil
	}
	if err := ch.Update(ctx, at, card); err != nil {
		b.Log.Warn("a duplicate card could not be edited", "channel", ch.Namespace(), "approval_id", r.ID, "error", err)
	}
}
