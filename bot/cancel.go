package bot

import (
	"context"
	"fmt"
	"strings"

	"holm/approvals"
	"holm/internal/fault"
)

// cancel takes a request back: an owner any of their agents, others their own.
func (b *Bot) cancel(ctx context.Context, l line) (string, error) {
	r, err := b.named(ctx, l, l.who.sees)
	if err != nil {
		return "", err
	}
	done := fmt.Sprintf("Cancelled: request #%d.", r.ShortID)
	r, err = b.Approvals.Cancel(ctx, approvals.Cancellation{
		AgentID: r.AgentID, RequestID: r.ID, Reason: strings.Join(l.words[1:], " "), Actor: actor(l.ch, l.who.user),
	})
	switch {
	case isKnown(err, fault.Conflict) && r.Status == approvals.Cancelled && *r.ResolvedBy == l.who.user.ID:
		return done, nil // sent again
	case isKnown(err, fault.Conflict):
		return fmt.Sprintf("Request #%d was already %s.", r.ShortID, ending(r, Clock{})), nil
	case isKnown(err, fault.Gone):
		return fmt.Sprintf("Request #%d %s.", r.ShortID, ending(r, Clock{})), nil
	case err != nil:
		return "", err
	}
	return done, nil
}
