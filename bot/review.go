package bot

import (
	"context"
	"fmt"
	"slices"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

// LabelReview opens the form in which a request is read in full and decided.
const LabelReview = "Review…"

// Form shows one person all of a request and takes their decision on it.
type Form struct {
	// Title is at most 24 characters.
	Title string
	// Card has whole arguments and no buttons.
	Card Card
	// Choices are the decisions, of which the person takes one: it comes back as
	// a tap on that button, with the reason as its text.
	Choices []Button
	// NeedsReason asks for a reason with every choice.
	NeedsReason bool
}

// Reviewer is a capability: the channel can show a form to a person who tapped.
type Reviewer interface {
	// Review shows f to the person who made the tap ev, and to nobody else. A tap
	// that is too old for that is an error.
	Review(ctx context.Context, ev Event, f Form) error
	// Holds tells, without I/O, whether a form can show all of c.
	Holds(c Card) bool
}

// wholeCard is an open request without anything cut.
func wholeCard(r approvals.Request, s Surface) Card {
	args, _ := argumentsOf(r)
	return Card{Head: headline(r), Facts: facts(r, len(args) == 0, s.Clock), Args: args, Notes: append(openNotes(r, s, true), digestNote(r))}
}

// wantsReview tells whether a decision on r should be taken from the form alone:
// its card does not show everything, or a mistake would cost much.
func wantsReview(r approvals.Request, s Surface, whole bool) bool {
	return s.Holds != nil && (!whole || r.Settings.Risk == policy.RiskHigh) && s.Holds(wholeCard(r, s))
}

// choices are the decisions that the rule offers for r, but for those for good.
func choices(r approvals.Request, s Surface) []Button {
	s.Limits.ButtonRow, s.Asks = 1, false
	return slices.DeleteFunc(slices.Concat(buttons(r, s, true, false)...), func(b Button) bool { return b.Label == LabelMore })
}

// review shows the form of an open request. What is decided from it is the
// request whose arguments stand in it: they never change.
func (b *Bot) review(ctx context.Context, ch Channel, ev Event, btn approvals.Button, user identity.User) (string, error) {
	may, err := approvals.MayDecide(ctx, b.Pool, btn.Request, user.ID)
	if err != nil {
		return "", err
	}
	reviewer, ok := ch.(Reviewer)
	switch {
	case !may:
		return noOwner(btn.Request), nil
	case btn.Status != approvals.Pending:
		return refusal(btn.Request, notAwaited(btn.Request))
	case !ok:
		return "This chat has no forms. Nothing was changed.", nil
	}
	d := delivery{Channel: btn.Channel, Identity: btn.Identity, UserID: user.ID, ButtonID: btn.ButtonID}
	s := b.surface(ch, d, btn.Request, ch.Limits())
	err = reviewer.Review(ctx, ev, Form{
		NeedsReason: btn.Settings.RequireReason,
		Title:       fmt.Sprintf("Review request #%d", btn.ShortID),
		Card:        wholeCard(btn.Request, s),
		Choices:     choices(btn.Request, s),
	})
	if err != nil {
		b.Log.Warn("a form could not be shown", "channel", btn.Channel, "approval_id", btn.ID, "error", err)
		return fmt.Sprintf("The form could not be shown in time. Tap %s again, or send: reject %d REASON.", LabelReview, btn.ShortID), nil
	}
	return "", b.shownAll(ctx, btn) // the person sees the form itself
}
