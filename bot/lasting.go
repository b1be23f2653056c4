package bot

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
	"holm/policy"
)

// Lasting power is not beside the approval of one call: it stands behind More…, and
// each kind of it behind one confirmation that says what it opens. What one card
// shows of that is its view.
const (
	viewMore      = "more"
	viewTool      = "tool"
	viewArguments = "arguments"
)

// Labels of the buttons of the views.
const (
	LabelMore      = "More…"
	LabelYesAlways = "Yes, always"
)

// views are what the buttons that turn a card show.
var views = map[approvals.Action]string{
	approvals.More: viewMore, approvals.ChooseTool: viewTool, approvals.ChooseArguments: viewArguments, approvals.CloseMore: "",
}

// confirmed is the view in which an approval for good is pressed.
func confirmed(a approvals.Action) string {
	if a.Extent() == approvals.TheseArguments {
		return viewArguments
	}
	return viewTool
}

// lastingNote says what the view of a card offers.
func lastingNote(r approvals.Request, view string) string {
	with := "with any arguments"
	switch view {
	case viewMore:
		return "Always: further calls run without a question, until somebody takes that back. You confirm it once more."
	case viewArguments:
		with = "with exactly these arguments"
	}
	return fmt.Sprintf("“%s” lets this call run, and every further call of %s by %s %s, without a question and without an end, until somebody revokes it.",
		LabelYesAlways, oneLine(r.Resource(), maxName), requester(r), with)
}

// lasting is the card of r in its view; ok is false when it has none that may stand
// there, because not all arguments were shown.
func (s Surface) lasting(r approvals.Request, args []Arg, readable bool) (c Card, ok bool) {
	if s.View == "" || !readable || !offers(r, policy.Persistent) {
		return c, false
	}
	c, whole := laidOut(r, s, args, append(askedNotes(r, s.Clock), lastingNote(r, s.View)))
	c.Whole = !s.ShownAll
	switch s.View {
	case viewMore:
		c.Buttons = rows(s.Limits.ButtonRow, slices.Concat(
			s.button(true, approvals.ChooseTool, LabelAlwaysTool, Plain),
			s.button(true, approvals.ChooseArguments, LabelAlwaysArguments, Plain)),
			s.button(true, approvals.CloseMore, LabelBack, Plain))
	default:
		yes := approvals.AlwaysTool
		if s.View == viewArguments {
			yes = approvals.AlwaysArguments
		}
		c.Buttons = rows(s.Limits.ButtonRow,
			s.button(true, yes, LabelYesAlways, Danger), s.button(true, approvals.CloseMore, LabelBack, Plain))
	}
	return c, s.ShownAll || whole && s.shows(c)
}

// turn shows another view of a card to its recipient.
func (b *Bot) turn(ctx context.Context, btn approvals.Button, user identity.User, view string) (string, error) {
	may, err := approvals.MayDecide(ctx, b.Pool, btn.Request, user.ID)
	switch {
	case err != nil:
		return "", err
	case !may:
		return noOwner(btn.Request), nil
	case btn.Status != approvals.Pending:
		return refusal(btn.Request, notAwaited(btn.Request))
	}
	return "", db.InTx(ctx, b.Pool, func(tx pgx.Tx) error { // the message itself changes
		if _, err := tx.Exec(ctx, `UPDATE card_deliveries SET view = $2 WHERE id = $1`, btn.DeliveryID, view); err != nil {
			return fmt.Errorf("turn card: %w", err)
		}
		if err := b.touchHomes(ctx, tx, delivery{Channel: btn.Channel, Identity: btn.Identity}.address()); err != nil {
			return err
		}
		return b.queue(ctx, tx, approvals.UpdateCardArgs{DeliveryID: btn.DeliveryID, Version: btn.Version})
	})
}
