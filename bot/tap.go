package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holm/approvals"
	"holm/internal/caught"
	"holm/internal/crashpoint"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/linking"
	"holm/policy"
)

// handleTap does what the button says and answers the person, once: after the
// decision was committed or refused. An internal failure is given back to be
// tried again, and answered when it is the last.
func (b *Bot) handleTap(ctx context.Context, ch Channel, ev Event, last bool) error {
	answer, err := caught.Do(b.Log, "tap", func() (string, error) { return b.tap(ctx, ch, ev) })
	if retried(err, last) {
		return err
	}
	if err != nil {
		answer = "This could not be recorded. Please tap again."
	}
	crashpoint.Reach(crashpoint.AnsweringTap)
	if failed := answerTap(ctx, ch, ev, answer); failed != nil {
		// The card itself will show the truth; tapping again would answer too.
		b.Log.Warn("a tap could not be answered", "channel", ch.Namespace(), "error", failed)
	}
	crashpoint.Reach(crashpoint.AnsweredTap)
	return err
}

// retried tells whether an event is to be tried again: not after a panic, which
// the next try would only meet again.
func retried(err error, last bool) bool { return err != nil && !last && !caught.Is(err) }

// What an answer is tried for: the person looks at the button meanwhile.
const (
	answerTries = 3
	answerPause = 500 * time.Millisecond
	// answerWait is the longest that a platform may ask to wait for.
	answerWait = 5 * time.Second
)

// answerTap tries again where the platform fails.
func answerTap(ctx context.Context, ch Channel, ev Event, text string) error {
	for try := 1; ; try++ {
		err := ch.Answer(ctx, ev, text)
		if err == nil || try == answerTries || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrSetup) {
			return err
		}
		pause := answerPause
		var limited *RetryError
		if errors.As(err, &limited) {
			if pause = max(limited.After, 0); pause > answerWait {
				return err
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// tap gives what the person is told; its errors are internal ones alone.
func (b *Bot) tap(ctx context.Context, ch Channel, ev Event) (string, error) {
	if linking.IsButton(ev.Token) {
		return b.tapLink(ctx, ch, ev)
	}
	if approvals.IsDigestButton(ev.Token) {
		return b.tapDigest(ctx, ch, ev)
	}
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
	text, err := b.press(ctx, ch, ev, btn, user)
	if btn.Action != approvals.ShowDetails && btn.Action != approvals.Review {
		b.closeDuplicate(ctx, ch, btn.DeliveryID, ev.Message, true)
	}
	return text, err
}

// press does what the button is for.
func (b *Bot) press(ctx context.Context, ch Channel, ev Event, btn approvals.Button, user identity.User) (string, error) {
	who := actor(ch, user)
	wanting := btn.Settings.RequireReason && btn.Action.Reason() == "" && strings.TrimSpace(ev.Text) == "" && btn.Status == approvals.Pending
	if btn.Action.Approves() && btn.Status == approvals.Pending {
		if may, err := b.mayApprove(ctx, ch, btn); err != nil {
			return "", err
		} else if !may && btn.Action.Resolution() == policy.Persistent && offers(btn.Request, policy.Persistent) {
			text, err := b.turn(ctx, btn, user, confirmed(btn.Action))
			return cmp.Or(text, "Nothing was decided: the card says what this opens, and asks once more."), err
		} else if !may {
			return b.notShown(ctx, btn)
		}
	}
	if view, ok := views[btn.Action]; ok {
		return b.turn(ctx, btn, user, view)
	}
	switch {
	case btn.Action.Decides() && wanting:
		return b.awaitReason(ctx, ch, ev, btn, btn.Action, who)
	case btn.Action.Decides():
		return b.tapDecides(ctx, ch, ev, btn, who)
	case btn.Action == approvals.Review:
		return b.review(ctx, ch, ev, btn, user)
	case btn.Action == approvals.AskReason:
		return b.awaitReason(ctx, ch, ev, btn, approvals.Reject, who)
	case btn.Action == approvals.WriteReason:
		return b.writeReason(ctx, ch, ev, btn, who)
	case btn.Action == approvals.Back:
		return b.dropReason(ctx, btn, who)
	case btn.Action == approvals.ShowDetails:
		return b.tapDetails(ctx, ch, btn, user)
	}
	return "This button is not one of ours. Nothing was changed.", nil
}

// tapDecides puts the decision that a button means. Where the rule wants a
// reason as well, the person is asked for it, and a tap alone decides nothing.
func (b *Bot) tapDecides(ctx context.Context, ch Channel, ev Event, btn approvals.Button, who approvals.Actor) (string, error) {
	d := btn.Decision(who)
	d.Reason = cmp.Or(strings.TrimSpace(ev.Text), d.Reason)
	r, err := b.Approvals.Decide(ctx, d)
	if fault.Is(err, "reason_required") {
		return b.awaitReason(ctx, ch, ev, btn, btn.Action, who)
	}
	return inAnswer(r, d, err)
}

// actor is a person that a platform has vouched for.
func actor(ch Channel, user identity.User) approvals.Actor {
	return approvals.Actor{UserID: user.ID, Name: user.Name, Via: ch.Namespace()}
}

func (b *Bot) tapDetails(ctx context.Context, ch Channel, btn approvals.Button, user identity.User) (string, error) {
	may, err := approvals.MayDecide(ctx, b.Pool, btn.Request, user.ID)
	if err != nil {
		return "", err
	}
	if !may {
		return noOwner(btn.Request), nil
	}
	all, err := b.sendDetails(ctx, ch, btn)
	if err != nil {
		return "", fmt.Errorf("send details: %w", err)
	}
	if !all {
		return "", nil // the person has been told
	}
	return "The arguments in full come as a message.", b.shownAll(ctx, btn)
}

// decide puts a decision and gives what came of it in words; its errors are
// internal ones alone.
func (b *Bot) decide(ctx context.Context, d approvals.Decision) (string, error) {
	r, err := b.Approvals.Decide(ctx, d)
	return inAnswer(r, d, err)
}

// inAnswer is what came of a decision, in words.
func inAnswer(r approvals.Request, d approvals.Decision, err error) (string, error) {
	if err == nil {
		return decided(r), nil
	}
	if isKnown(err, fault.Conflict) && isRepeat(r, d) {
		return decided(r), nil
	}
	return refusal(r, err)
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
	if r.Status == approvals.Pending {
		return counted(r)
	}
	return strings.TrimSuffix(allowedNow(r)+" "+narrowestNote(r), " ")
}

// allowedNow tells what an approval lets through from now on.
func allowedNow(r approvals.Request) string {
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
	return fmt.Sprintf("You may not decide request #%d of agent %s any more. Nothing was changed.", r.ShortID, r.AgentID)
}

func isKnown(err error, kind fault.Kind) bool {
	f, ok := fault.As(err)
	return ok && f.Kind == kind
}
