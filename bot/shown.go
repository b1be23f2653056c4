package bot

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/policy"
)

// The one rule of approving: a button that approves a call stands only before a
// person who has been shown all of its arguments. They stand whole on the very
// message of the button, or in the form that it is part of, or Details has brought
// them to its recipient before. In place of the button else stands the way to all
// of them. Pressing one decides nothing either, unless that held; see mayApprove.

// Shower is a capability: the channel can tell, without I/O, whether the message
// that it makes of a card leaves nothing of its arguments out. Of a channel without
// it the card's own measure tells.
type Shower interface {
	Shows(c Card) bool
}

// shows tells whether the message of c has all of its arguments.
func (s Surface) shows(c Card) bool { return s.Shows == nil || s.Shows(c) }

// Unapproving is c without the buttons that approve, for a message that cannot
// show all of the arguments which a Whole card promises.
func (c Card) Unapproving() Card {
	var rows [][]Button
	for _, row := range c.Buttons {
		row = slices.DeleteFunc(slices.Clone(row), func(b Button) bool { return b.Approves })
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	c.Buttons, c.Whole = rows, false
	c.Notes = append(slices.Clone(c.Notes), cannotApprove)
	return c
}

const cannotApprove = "The arguments cannot be shown in full here, so this card cannot approve; the web page and the command line can."

// inSight tells whether the card of r would show all of its arguments.
func inSight(r approvals.Request, s Surface) bool {
	args, readable := argumentsOf(r)
	_, whole := s.whole(r, args, readable)
	return whole
}

// whole is the open card of r with its arguments and the buttons that approve, and
// tells whether all of the arguments stand there.
func (s Surface) whole(r approvals.Request, args []Arg, readable bool) (c Card, whole bool) {
	c, whole = laidOut(r, s, args, openNotes(r, s, true))
	c.Whole = true
	c.Buttons = buttons(r, s, true, len(args) > 0 && reachable(r, s))
	return c, readable && whole && s.shows(c)
}

// mayApprove tells whether the recipient of a button has been shown all of the
// arguments of its request, and before an approval for good what that opens.
func (b *Bot) mayApprove(ctx context.Context, ch Channel, btn approvals.Button) (bool, error) {
	d, r, ok, err := readDelivery(ctx, b.Pool, btn.DeliveryID)
	if err != nil || !ok {
		return false, err
	}
	if btn.Action.Resolution() == policy.Persistent && offers(r, policy.Persistent) && d.View != confirmed(btn.Action) {
		return false, nil // it was not said what it opens
	}
	return d.ShownAll || inSight(r, b.surface(ch, d, r, ch.Limits())), nil
}

// MayApprove is mayApprove for a button that an adapter outside says was pressed.
func (b *Bot) MayApprove(ctx context.Context, btn approvals.Button) (bool, error) {
	ch, err := b.channel(ctx, btn.Channel, btn.AgentID)
	if err != nil || ch == nil {
		return false, err
	}
	return b.mayApprove(ctx, ch, btn)
}

// notShown answers a button that stood on less than all of the arguments. Its card
// is brought to what it may offer.
func (b *Bot) notShown(ctx context.Context, btn approvals.Button) (string, error) {
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE card_deliveries SET shown_hash = '' WHERE id = $1`, btn.DeliveryID); err != nil {
			return fmt.Errorf("forget what a card shows: %w", err)
		}
		return b.queue(ctx, tx, approvals.UpdateCardArgs{DeliveryID: btn.DeliveryID, Version: btn.Version})
	})
	return fmt.Sprintf("Nothing was decided: you have not been shown all arguments of request #%d. See all of them first; the card says how.", btn.ShortID), err
}

// shownAll notes that all arguments have been brought to the recipient of a card,
// which may offer approving from now on.
func (b *Bot) shownAll(ctx context.Context, btn approvals.Button) error {
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE card_deliveries
			SET shown_all_at = clock_timestamp()
			WHERE id = $1
			  AND shown_all_at IS NULL`, btn.DeliveryID)
		if err != nil {
			return fmt.Errorf("note that all was shown: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		if err := b.touchHomes(ctx, tx, delivery{Channel: btn.Channel, Identity: btn.Identity}.address()); err != nil {
			return err
		}
		return b.queue(ctx, tx, approvals.UpdateCardArgs{DeliveryID: btn.DeliveryID, Version: btn.Version})
	})
}
