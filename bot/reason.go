package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/caught"
	"holm/internal/fault"
	"holm/internal/identity"
)

// Question asks one person for one text.
type Question struct {
	// Title is at most 24 characters; Text is a sentence or two.
	Title, Text string
	// Token comes back with the answer where the platform can carry it.
	Token string
}

// Asker is a capability: the channel can ask a person for a text in answer to
// their tap.
type Asker interface {
	// Ask puts q to the person who made the tap ev, and to nobody else. What
	// they write comes in as an event: of kind Reply with q's Token, where the
	// platform carries it along (a modal); or as a Text whose ReplyTo is the
	// message that Ask returned. A tap that is too old to be asked on is an error.
	Ask(ctx context.Context, ev Event, q Question) (MessageRef, error)
	// AsksAtOnce tells that asking costs no further tap or message: then the
	// bot asks right away, and not only after "Other…".
	AsksAtOnce() bool
}

// awaitReason holds a request for a person who decides with a reason, and asks
// for it: at once where the channel can, or for an approval, which has no ready
// reasons to offer.
func (b *Bot) awaitReason(ctx context.Context, ch Channel, ev Event, btn approvals.Button, decision approvals.Action, who approvals.Actor) (string, error) {
	asker, ok := ch.(Asker)
	if !ok {
		return fmt.Sprintf("This needs a reason. Send: %s.", inWords(decision, btn.Request)), nil
	}
	r, err := b.Approvals.Await(ctx, btn.AgentID, btn.ID, decision, who)
	if err != nil {
		return refusal(r, err)
	}
	if !asker.AsksAtOnce() && !decision.Approves() {
		return "Tap a reason. Nobody else can decide meanwhile.", nil
	}
	return b.ask(ctx, asker, ev, btn, decision)
}

// inWords is the command that gives a decision with a reason.
func inWords(decision approvals.Action, r approvals.Request) string {
	how := map[approvals.Action]string{
		approvals.ApproveCall: "once", approvals.ApproveForTime: "hour",
		approvals.AlwaysTool: "always", approvals.AlwaysArguments: "always these",
	}[decision]
	if how == "" {
		return fmt.Sprintf("reject %s#%d REASON", r.AgentID, r.ShortID)
	}
	return fmt.Sprintf("approve %s#%d %s REASON", r.AgentID, r.ShortID, how)
}

// ask puts the question and notes the message that carries it, if any. A crash
// between the two asks once more; for an answer to the message that nobody
// noted see unnoted.
func (b *Bot) ask(ctx context.Context, asker Asker, ev Event, btn approvals.Button, decision approvals.Action) (string, error) {
	what, title := "rejected", "Reject"
	if decision.Approves() {
		what, title = "approved", "Approve"
	}
	at, err := asker.Ask(ctx, ev, Question{
		Title: fmt.Sprintf("%s request #%d", title, btn.ShortID),
		Text:  fmt.Sprintf("Why is request #%d (%s) %s? What you write reaches its requester.", btn.ShortID, oneLine(btn.Resource(), maxName), what),
		Token: b.reasonToken(btn, decision),
	})
	if err != nil {
		b.Log.Warn("a reason could not be asked for", "channel", btn.Channel, "approval_id", btn.ID, "error", err)
		return fmt.Sprintf("You could not be asked for the reason. Tap again, or send: %s.", inWords(decision, btn.Request)), nil
	}
	if at.Message == "" {
		return "", nil // the person sees the question itself
	}
	_, err = b.Pool.Exec(ctx, `
		INSERT INTO reason_prompts (channel, chat, message, delivery_id, action)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT DO NOTHING`, btn.Channel, at.Chat, at.Message, btn.DeliveryID, decision)
	if err != nil {
		return "", fmt.Errorf("note a question: %w", err)
	}
	return "Answer the message with your reason.", nil
}

// reasonToken names the decision, the delivery and its recipient, as the button
// of that decision would.
func (b *Bot) reasonToken(btn approvals.Button, decision approvals.Action) string {
	return approvals.ButtonToken(b.Keeper, btn.ButtonID, btn.Request, btn.Channel, btn.Identity, decision)
}

// writeReason asks for the reason that the person's hold waits for.
func (b *Bot) writeReason(ctx context.Context, ch Channel, ev Event, btn approvals.Button, who approvals.Actor) (string, error) {
	asker, ok := ch.(Asker)
	h := btn.Held()
	if !ok || h == nil || h.By != who.ID() {
		return refusal(btn.Request, notAwaited(btn.Request))
	}
	return b.ask(ctx, asker, ev, btn, h.Action)
}

// dropReason is the tap on Back.
func (b *Bot) dropReason(ctx context.Context, btn approvals.Button, who approvals.Actor) (string, error) {
	r, err := b.Approvals.DropHold(ctx, btn.AgentID, btn.ID, who)
	if err != nil {
		return refusal(r, err)
	}
	if r.Status != approvals.Pending {
		return refusal(r, notAwaited(r))
	}
	return fmt.Sprintf("Nothing was decided: request #%d is open.", r.ShortID), nil
}

func notAwaited(r approvals.Request) error {
	if r.Status != approvals.Pending {
		return fault.New(fault.Conflict, "already_decided", "request %d was already decided", r.ShortID)
	}
	return fault.New(fault.Conflict, "reason_not_awaited", "request %d waits for no reason of yours; nothing was changed", r.ShortID)
}

// handleReply takes an answer that came with the token of its question.
func (b *Bot) handleReply(ctx context.Context, ch Channel, ev Event, last bool) error {
	text, err := caught.Do(b.Log, "reply", func() (string, error) { return b.reasonOf(ctx, ch, ev, ev.Token) })
	if retried(err, last) {
		return err
	}
	if err != nil {
		text = "Your reason could not be recorded. Please try again."
	}
	return errors.Join(err, b.say(ctx, ch, Recipient{Identity: ev.Identity}, text))
}

// handleClosed ends the hold of a person who closed a question unanswered. The
// card shows it; nothing is said.
func (b *Bot) handleClosed(ctx context.Context, ch Channel, ev Event) error {
	btn, err := approvals.FindButton(ctx, b.Pool, b.Keeper, ev.Token)
	if isKnown(err, fault.NotFound) || err == nil && (btn.Channel != ch.Namespace() || btn.Identity != ev.Identity) {
		return nil
	}
	if err != nil {
		return err
	}
	user, ok, err := identity.FindUser(ctx, b.Pool, identity.Address{Channel: btn.Channel, Identity: btn.Identity})
	if err != nil || !ok {
		return err
	}
	_, err = b.Approvals.DropHold(ctx, btn.AgentID, btn.ID, actor(ch, user))
	if f, known := fault.As(err); known && f.Kind != fault.Unavailable {
		return nil // they are no owner any more, or the request is gone
	}
	return err
}

// promptAnswer takes a text that answers a message which asked for a reason; ok
// is false when it answers none, or not one that was put to this person.
func (b *Bot) promptAnswer(ctx context.Context, l *line) (text string, ok bool, err error) {
	ch, ev := l.ch, l.ev
	if ev.ReplyTo.Message == "" || !ev.Direct {
		return "", false, nil
	}
	var btn approvals.Button
	var identity string
	err = b.Pool.QueryRow(ctx, `
		SELECT p.action, d.request_id, d.button_id, d.identity
		FROM reason_prompts p
		JOIN card_deliveries d ON d.id = p.delivery_id
		WHERE p.channel = $1
		  AND p.chat = $2
		  AND p.message = $3`, ch.Namespace(), ev.ReplyTo.Chat, ev.ReplyTo.Message).
		Scan(&btn.Action, &btn.ID, &btn.ButtonID, &identity)
	if errors.Is(err, pgx.ErrNoRows) {
		return b.unnoted(ctx, l)
	}
	if err != nil {
		return "", false, fmt.Errorf("read question: %w", err)
	}
	if identity != ev.Identity {
		return "", false, nil
	}
	r, err := approvals.Lookup(ctx, b.Pool, btn.ID)
	if err != nil {
		return "", false, err
	}
	text, err = b.giveReason(ctx, ch, ev, r, btn.Action)
	return text, true, err
}

// notingTime is how long the note of a question may take to follow its message.
const notingTime = 5 * time.Second

// unnoted takes a text that answers a message of ours which carries no question
// that is known. While its writer keeps a request for a reason and no question
// about that is noted, it may be the answer to one that is on its way to be
// noted: the error has it read once more. After notingTime it is told what to
// do, for it is no word to an agent.
func (b *Bot) unnoted(ctx context.Context, l *line) (text string, ok bool, err error) {
	user, known, err := identity.FindUser(ctx, b.Pool, identity.Address{Channel: l.ch.Namespace(), Identity: l.ev.Identity})
	if err != nil || !known {
		return "", false, err
	}
	who := actor(l.ch, user)
	var id string
	var fresh bool
	err = b.Pool.QueryRow(ctx, `
		SELECT r.id, i.received_at > clock_timestamp() - $4 * interval '1 second'
		FROM card_deliveries d
		JOIN approval_requests r ON r.id = d.request_id
		JOIN inbox i ON i.channel = d.channel AND i.event_id = $3
		WHERE d.channel = $1
		  AND d.identity = $2
		  AND r.status = 'pending'
		  AND r.hold ->> 'by' = $5
		  AND NOT EXISTS (SELECT FROM card_deliveries own WHERE own.channel = d.channel AND own.chat = $7 AND own.message = $8)
		  AND NOT EXISTS (
		          SELECT
		          FROM reason_prompts p
		          WHERE p.delivery_id = d.id
		            AND p.created_at > (r.hold ->> 'until')::timestamptz - $6 * interval '1 second')
		ORDER BY r.created_at DESC
		LIMIT 1`, l.ch.Namespace(), l.ev.Identity, l.event.EventID, notingTime.Seconds(), who.ID(), approvals.HoldTime.Seconds(),
		l.ev.ReplyTo.Chat, l.ev.ReplyTo.Message).Scan(&id, &fresh)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read holds: %w", err)
	}
	if fresh {
		return "", false, errors.New("the question that this answers is not noted yet")
	}
	r, err := approvals.Lookup(ctx, b.Pool, id)
	if err != nil || r.Held() == nil {
		return "", false, err
	}
	return fmt.Sprintf("I cannot tell which question this answers, and nothing was recorded. To give your reason, tap the button on the card again, or send: %s.",
		inWords(r.Held().Action, r)), true, nil
}

// reasonOf takes the answer to the question that a token names.
func (b *Bot) reasonOf(ctx context.Context, ch Channel, ev Event, token string) (string, error) {
	btn, err := approvals.FindButton(ctx, b.Pool, b.Keeper, token)
	if isKnown(err, fault.NotFound) {
		return "This answers no question of ours, or its request is gone. Nothing was changed.", nil
	}
	if err != nil {
		return "", err
	}
	if btn.Channel != ch.Namespace() || btn.Identity != ev.Identity {
		return "This question was put to somebody else. Nothing was changed.", nil
	}
	return b.giveReason(ctx, ch, ev, btn.Request, btn.Action)
}

// giveReason decides with what a person wrote. Errors are internal ones alone;
// what is refused leaves the question open.
func (b *Bot) giveReason(ctx context.Context, ch Channel, ev Event, r approvals.Request, decision approvals.Action) (string, error) {
	user, ok, err := identity.FindUser(ctx, b.Pool, identity.Address{Channel: ch.Namespace(), Identity: ev.Identity})
	if err != nil {
		return "", err
	}
	if !ok {
		return noOwner(r), nil
	}
	who, reason := actor(ch, user), strings.TrimSpace(ev.Text)
	now, err := b.Approvals.GiveReason(ctx, r.AgentID, r.ID, decision, reason, who)
	if err == nil {
		return decided(now), nil
	}
	if decidedWith(now, who, reason) { // the answer came twice
		return decided(now), nil
	}
	return refusal(now, err)
}

func decidedWith(r approvals.Request, who approvals.Actor, reason string) bool {
	return r.ResolvedBy != nil && *r.ResolvedBy == who.ID() && r.Reason != nil && *r.Reason == reason
}

// refusal gives a known failure about r in words, and others back.
func refusal(r approvals.Request, err error) (string, error) {
	f, ok := fault.As(err)
	switch {
	case !ok || f.Kind == fault.Internal || f.Kind == fault.Unavailable:
		return "", err
	case f.Kind == fault.Conflict && r.ResolvedAt != nil:
		return fmt.Sprintf("Request #%d was already %s.", r.ShortID, ending(r, Clock{})), nil
	case f.Kind == fault.Gone && r.ResolvedAt != nil:
		return fmt.Sprintf("Request #%d %s.", r.ShortID, ending(r, Clock{})), nil
	case f.Code == "reason_awaited":
		return heldBy(r, Clock{}), nil
	}
	return sentence(f.Message), nil
}

// heldBy tells others why they cannot decide now.
func heldBy(r approvals.Request, k Clock) string {
	h := r.Held()
	return fmt.Sprintf("%s is writing a reason for request #%d. Nobody else can decide before %s.", oneLine(h.Name, maxName), r.ShortID, k.At(h.Until))
}
