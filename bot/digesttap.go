package bot

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// tapDigest does what a button of a digest says, for its recipient alone.
func (b *Bot) tapDigest(ctx context.Context, ch Channel, ev Event) (string, error) {
	btn, err := approvals.FindDigestButton(ctx, b.Pool, b.Keeper, ev.Token)
	if isKnown(err, fault.NotFound) {
		return "This button is not one of ours, or its requests are gone. Nothing was changed.", nil
	}
	if err != nil {
		return "", err
	}
	if btn.Channel != ch.Namespace() || btn.Identity != ev.Identity {
		return "This card belongs to somebody else. Nothing was changed.", nil
	}
	user, ok, err := identity.FindUser(ctx, b.Pool, identity.Address{Channel: btn.Channel, Identity: btn.Identity})
	if err != nil {
		return "", err
	}
	if !ok {
		return "You may not decide these requests any more. Nothing was changed.", nil
	}
	if btn.State == digestClosed && ev.Message.Message != "" {
		// The tap is ahead of the note of what was sent, or that was lost.
		if err := b.sentDigest(ctx, btn.Digest, ev.Message, ""); err != nil {
			return "", err
		}
		btn.State = digestSent
	}
	text, err := b.pressDigest(ctx, ch, ev, btn, user)
	b.showCopy(ctx, ch, btn.ID, ev.Message)
	return text, err
}

// Press does what a button of a list, or one of a card that decides nothing, says
// that a person of an adapter outside pressed, and gives what they are told. ok is
// false for a token that is none of these of theirs.
func (b *Bot) Press(ctx context.Context, agentID string, who identity.Address, token, reason string) (text string, ok bool, err error) {
	theirs, err := b.isTheirs(ctx, agentID, who, token)
	if isKnown(err, fault.NotFound) {
		return "", false, nil
	}
	if err != nil || !theirs {
		return "", false, err
	}
	ch, err := b.channel(ctx, who.Channel, agentID)
	if err != nil || ch == nil {
		return "", false, err
	}
	text, err = b.tap(ctx, ch, Event{Kind: Tap, Identity: who.Identity, Direct: true, Token: token, Text: reason})
	return text, true, err
}

// isTheirs tells whether Press takes a token from a person.
func (b *Bot) isTheirs(ctx context.Context, agentID string, who identity.Address, token string) (bool, error) {
	if approvals.IsDigestButton(token) {
		btn, err := approvals.FindDigestButton(ctx, b.Pool, b.Keeper, token)
		return err == nil && btn.Channel == who.Channel && btn.Identity == who.Identity, err
	}
	btn, err := approvals.FindButton(ctx, b.Pool, b.Keeper, token)
	return err == nil && btn.AgentID == agentID && btn.Channel == who.Channel && btn.Identity == who.Identity && !btn.Action.Decides(), err
}

func (b *Bot) pressDigest(ctx context.Context, ch Channel, ev Event, btn approvals.DigestButton, user identity.User) (string, error) {
	switch {
	case btn.Action == approvals.OpenCard && len(btn.These) == 1:
		return b.openCard(ctx, btn.Digest, btn.These[0], user)
	case btn.Action == approvals.ReviewAll:
		return b.reviewAll(ctx, ch, ev, btn.Digest)
	case btn.Action == approvals.BackToList:
		return b.turnDigest(ctx, btn.Digest, false)
	case btn.Action == approvals.ApproveThese, btn.Action == approvals.RejectThese:
		return b.decideThese(ctx, ch, btn, ev.Text, actor(ch, user))
	}
	return "This button is not one of ours. Nothing was changed.", nil
}

// turnDigest shows the list or the review.
func (b *Bot) turnDigest(ctx context.Context, g approvals.Digest, reviewing bool) (string, error) {
	may, err := b.mayReview(ctx, g)
	switch {
	case err != nil:
		return "", err
	case reviewing && len(openOf(g)) == 0:
		return "None of these requests waits any more.", nil
	case reviewing && !may:
		return "Some of these are not yours to decide any more: use the numbers. Nothing was changed.", nil
	}
	err = db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE card_digests SET reviewing = $2 WHERE id = $1`, g.ID, reviewing); err != nil {
			return fmt.Errorf("turn digest: %w", err)
		}
		return b.queue(ctx, tx, digestArgs{DigestID: g.ID})
	})
	return "", err // the message itself changes
}

// openCard sends the own card of a listed request, once.
func (b *Bot) openCard(ctx context.Context, g approvals.Digest, l approvals.Listed, user identity.User) (string, error) {
	may, err := approvals.MayDecide(ctx, b.Pool, l.Request, user.ID)
	switch {
	case err != nil:
		return "", err
	case !may:
		return noOwner(l.Request), nil
	case l.Status != approvals.Pending:
		return refusal(l.Request, notAwaited(l.Request))
	case l.Message != "":
		return fmt.Sprintf("The card of request #%d is in this chat already.", l.ShortID), nil
	case g.State == digestClosed:
		return "This list is only just being sent. Please tap again.", nil
	}
	err = db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		return b.queue(ctx, tx, approvals.DeliverArgs{DeliveryID: l.DeliveryID})
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The card of request #%d comes.", l.ShortID), nil
}

// showCopy brings a message of a digest that is not the one noted, as a crash
// can leave behind, to what holds now. It is tried once, as closeDuplicate.
func (b *Bot) showCopy(ctx context.Context, ch Channel, id string, at MessageRef) {
	g, ok, err := approvals.ReadDigest(ctx, b.Pool, id)
	if err != nil || !ok || at.Message == "" || g.State == digestSent && at.Chat == g.Chat && at.Message == g.Message {
		return
	}
	card, _, err := b.renderDigest(ctx, ch, g)
	if err == nil {
		err = ch.Update(ctx, at, card)
	}
	if err != nil {
		b.Log.Warn("a copy of a list could not be edited", "channel", ch.Namespace(), "error", err)
	}
}
