package bot

import (
	"context"
	"fmt"
	"slices"

	"holm/approvals"
)

// maxReviewedArgs is the most that the arguments of one request may take in a
// form of several, by weight: longer ones are read in a form of their own. As
// many requests as one list has then fit into the 250 kB of one of Slack's.
const maxReviewedArgs = 12_000

// formRoom is that of a form.
func formRoom(holds func(Card) bool) room {
	return room{
		request: func(args []argument) bool {
			all := 0
			for _, a := range args {
				all += weight(a.Name) + weight(a.Value)
			}
			return all <= maxReviewedArgs
		},
		review: holds,
	}
}

// RenderDigestForm is the review of g as a form, with the decisions of each group
// as its choices; ok is false when there is nothing to decide together. It
// depends on nothing but its arguments.
func RenderDigestForm(g approvals.Digest, s DigestSurface) (f Form, ok bool) {
	open := openOf(g)
	v, c := fill(open, formRoom(s.Holds), func(v review) Card {
		c := reviewCard(g, open, v, s.Clock)
		c.Notes = append(c.Notes, "What somebody else decides while you read is left out. A reason goes to all who asked.")
		return c
	})
	f = Form{Title: fmt.Sprintf("Review %d requests", len(open)), Card: c}
	for i, group := range v.groups {
		f.Choices = slices.Concat(f.Choices, groupButtons(group, v.mark(i), s))
	}
	return f, len(f.Choices) > 0
}

// reviewAll shows the review: as a form where the channel has them, so that the
// list stays and a reason can be given, else in place of the list, as also when
// the form could not be opened in time.
func (b *Bot) reviewAll(ctx context.Context, ch Channel, ev Event, g approvals.Digest) (string, error) {
	shown, err := b.openBulkForm(ctx, ch, ev, g)
	if err != nil || shown {
		return "", err
	}
	return b.turnDigest(ctx, g, true)
}

// openBulkForm tells whether the person sees the form. Arguments in full are for
// those alone who may decide.
func (b *Bot) openBulkForm(ctx context.Context, ch Channel, ev Event, g approvals.Digest) (shown bool, err error) {
	reviewer, ok := ch.(Reviewer)
	if !ok {
		return false, nil
	}
	may, err := b.mayReview(ctx, g)
	if err != nil || !may {
		return false, err
	}
	s, err := b.digestSurface(ctx, ch, g)
	if err != nil {
		return false, err
	}
	s.Holds = reviewer.Holds
	f, ok := RenderDigestForm(g, s)
	if !ok {
		return false, nil
	}
	if err := reviewer.Review(ctx, ev, f); err != nil {
		b.Log.Warn("a form for several requests could not be shown; showing a message", "channel", ch.Namespace(), "error", err)
		return false, nil
	}
	return true, nil
}
