package bot

import (
	"context"
	"fmt"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// handleTap does what the button says and answers the person, once: after the
// decision was committed or refused. An internal failure is given back to be
// tried again, and answered when it is the last.
func (b *Bot) handleTap(ctx context.Context, ch Channel, ev Event, last bool) error {
	answer, err := b.tap(ctx, ch, ev)
	if err != nil && !last {
		return err
	}
	if err != nil {
		answer = "This could not be recorded. Please tap again."
	}
	if failed := ch.Answer(ctx, ev, answer); failed != nil {
		// The card itself will show the truth; tapping again would answer too.
		b.Log.Warn("a tap could not be answered", "channel", ch.Namespace(), "error", failed)
	}
	return err
}

// tap gives what the person is told; its errors are internal ones alone.
func (b *Bot) tap(ctx context.Context, ch Channel, ev Event) (string, error) {
	btn, err := approvals.FindButton(ctx, b.Pool, b.Keeper, ev.Token)
	if isKnown(err, fault.NotFound) {
		return "This button is not one of ours, or its request is gone. Nothing was changed.", nil
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
		return noOwner(btn.Request), nil
	}
	if err := b.adopt(ctx, btn, ev.Message); err != nil {
		return "", err
	}
	if !btn.Action.Decides() {
		return b.tapDetails(ctx, ch, btn, user)
	}
	text, err := b.decide(ctx, btn.Decision(actor(ch, user)))
	b.closeDuplicate(ctx, ch, btn.DeliveryID, ev.Message)
	return text, err
}

// actor is a person that a platform has vouched for.
func actor(ch Channel, user identity.User) approvals.Actor {
	return approvals.Actor{UserID: user.ID, Name: user.Name, Via: ch.Namespace()}
}

func (b *Bot) tapDetails(ctx context.Context, ch Channel, btn approvals.Button, user identity.User) (string, error) {
	if btn.Action != approvals.ShowDetails {
		return "This button is not one of ours. Nothing was changed.", nil
	}
	role, err := identity.RoleOf(ctx, b.Pool, btn.AgentID, user.ID)
	if err != nil {
		return "", fmt.Errorf("read role: %w", err)
	}
	if role != policy.Owner {
		return noOwner(btn.Request), nil
	}
	if err := b.sendDetails(ctx, ch, btn); err != nil {
		return "", fmt.Errorf("send details: %w", err)
	}
	return "The arguments in full come as a message.", nil
}

// decide puts a decision and gives what came of it in words; its errors are
// internal ones alone.
func (b *Bot) decide(ctx context.Context, d approvals.Decision) (string, error) {
	r, err := b.Approvals.Decide(ctx, d)
	if err == nil {
		return decided(r), nil
	}
	f, ok := fault.As(err)
	if !ok {
		return "", err
	}
	switch f.Kind {
	case fault.Conflict:
		if isRepeat(r, d) {
			return decided(r), nil
		}
		return fmt.Sprintf("Request #%d was already %s.", r.ShortID, ending(r)), nil
	case fault.Gone:
		return fmt.Sprintf("Request #%d %s.", r.ShortID, ending(r)), nil
	case fault.Forbidden:
		return fmt.Sprintf("You are no owner of agent %s any more. Nothing was changed.", d.AgentID), nil
	case fault.Invalid, fault.NotFound:
		return sentence(f.Message), nil
	}
	return "", err
}

// isRepeat tells whether d is what its actor has decided before: platforms
// send one tap several times, and people tap twice.
func isRepeat(r approvals.Request, d approvals.Decision) bool {
	if r.ResolvedBy == nil || *r.ResolvedBy != d.Actor.ID() {
		return false
	}
	if !d.Approve {
		return r.Status == approvals.Rejected
	}
	return r.Status == approvals.Approved && *r.Resolution == d.Resolution && (r.Extent == nil || *r.Extent == d.Extent)
}

// decided tells the decider what now holds.
func decided(r approvals.Request) string {
	if r.Status == approvals.Rejected {
		return fmt.Sprintf("Rejected: request #%d.", r.ShortID)
	}
	switch *r.Resolution {
	case policy.Single:
		return fmt.Sprintf("Approved once: request #%d, this call only.", r.ShortID)
	case policy.Once:
		return fmt.Sprintf("Approved for %d min: request #%d.", r.TTLMinutes, r.ShortID)
	}
	if *r.Extent == approvals.TheseArguments {
		return fmt.Sprintf("Always allowed with these arguments: request #%d.", r.ShortID)
	}
	return fmt.Sprintf("Always allowed with any arguments: request #%d.", r.ShortID)
}

func noOwner(r approvals.Request) string {
	return fmt.Sprintf("You are no owner of agent %s any more. Nothing was changed.", r.AgentID)
}

func isKnown(err error, kind fault.Kind) bool {
	f, ok := fault.As(err)
	return ok && f.Kind == kind
}
