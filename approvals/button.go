package approvals

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
	"holm/policy"
)

// Action is what a button of a card does. The numbers are part of tokens on
// cards that people still have: never give one another meaning.
type Action byte

// The actions.
const (
	ApproveCall     Action = 1 // this one call
	ApproveForTime  Action = 2 // for the rule's ttlMinutes
	AlwaysTool      Action = 3 // for good, with any arguments
	AlwaysArguments Action = 4 // for good, with exactly these arguments
	Reject          Action = 5
	ShowDetails     Action = 6  // decides nothing
	AskReason       Action = 7  // holds the request for a rejection with a reason
	WriteReason     Action = 8  // asks for the reason in the reviewer's own words
	Back            Action = 9  // ends the hold without a decision
	Review          Action = 10 // shows all of the request in a form; decides nothing

	// Rejections with a reason that needs no typing.
	RejectNotNow         Action = 16
	RejectWrongArguments Action = 17
	RejectTooRisky       Action = 18
	RejectAskMeFirst     Action = 19
	RejectTryDifferently Action = 20 // invites another proposal

	// What shows the approvals for good, which are confirmed; these decide nothing.
	More            Action = 21
	ChooseTool      Action = 22
	ChooseArguments Action = 23
	CloseMore       Action = 24
)

// readyReasons are passed on as if they had been typed.
var readyReasons = map[Action]string{
	RejectNotNow:         "Not now.",
	RejectWrongArguments: "The arguments are wrong.",
	RejectTooRisky:       "Too risky.",
	RejectAskMeFirst:     "Ask me first.",
	RejectTryDifferently: "Try it differently.",
}

// Decides tells whether the action is an answer to the request.
func (a Action) Decides() bool { return a >= ApproveCall && a <= Reject || a.Reason() != "" }

// Approves tells whether the answer is an approval.
func (a Action) Approves() bool { return a.Resolution() != "" }

// Reason is what the action itself gives as the reason, mostly nothing.
func (a Action) Reason() string { return readyReasons[a] }

// Resolution is what the action leaves, empty when it approves nothing.
func (a Action) Resolution() policy.Resolution {
	switch a {
	case ApproveCall:
		return policy.Single
	case ApproveForTime:
		return policy.Once
	case AlwaysTool, AlwaysArguments:
		return policy.Persistent
	}
	return ""
}

// Extent is how much a persistent approval by the action opens.
func (a Action) Extent() Extent {
	if a == AlwaysArguments {
		return TheseArguments
	}
	return WholeTool
}

// Button is a button of a card that Holm made for one recipient.
type Button struct {
	Request
	DeliveryID string
	// Channel and Identity are the recipient: nobody else may press it.
	Channel, Identity string
	// Chat and Message are where the card is, empty before it was sent.
	Chat, Message string
	// ButtonID is the part of its tokens that all buttons of the card share.
	ButtonID []byte
	Action   Action `db:"-"`
}

// Decision is the answer that pressing the button means, given by actor.
func (b Button) Decision(actor Actor) Decision {
	return b.Action.decision(b.AgentID, b.ID, actor)
}

func (a Action) decision(agentID, requestID string, actor Actor) Decision {
	return Decision{
		AgentID: agentID, RequestID: requestID, Approve: a.Approves(),
		Resolution: a.Resolution(), Extent: a.Extent(), Reason: a.Reason(),
		TryDifferently: a == RejectTryDifferently, Actor: actor,
	}
}

// A token is the delivery's random id, the action and the first bytes of a
// MAC: 34 characters, where Telegram carries 64 bytes. Eight bytes of MAC are
// enough for what is tried over the network, one tap at a time.
const (
	buttonIDSize = 16
	buttonMAC    = 8
	buttonSize   = buttonIDSize + 1 + buttonMAC
)

var buttonText = base64.RawURLEncoding.Strict()

// ButtonToken is the data of one button on the card of r for a recipient;
// buttonID is that of the delivery.
func ButtonToken(k *secret.Keeper, buttonID []byte, r Request, channel, identity string, a Action) string {
	raw := append(append(make([]byte, 0, buttonSize), buttonID...), byte(a))
	return buttonText.EncodeToString(append(raw, signButton(k, r, channel, identity, a)...))
}

func signButton(k *secret.Keeper, r Request, channel, identity string, a Action) []byte {
	expires := strconv.FormatInt(r.ExpiresAt.UnixMicro(), 10)
	return k.MAC("button v1", r.ID, channel, identity, strconv.Itoa(int(a)), expires)[:buttonMAC]
}

var errButton = fault.New(fault.NotFound, "unknown_button", "this button is not one of ours")

// FindButton reads a token that a platform or a caller presented. One that is
// malformed, unknown or forged is NotFound, all alike. The button may belong
// to a closed request; whether the presenter is its recipient is for the
// caller to compare.
func FindButton(ctx context.Context, q db.Queryer, k *secret.Keeper, token string) (Button, error) {
	raw, err := buttonText.DecodeString(token)
	// The decoder overlooks line breaks; the token's own length does not.
	if err != nil || len(raw) != buttonSize || len(token) != buttonText.EncodedLen(buttonSize) {
		return Button{}, errButton
	}
	b, err := readButton(ctx, q, raw[:buttonIDSize])
	if err != nil {
		return Button{}, err
	}
	b.Action = Action(raw[buttonIDSize])
	if !hmac.Equal(raw[buttonIDSize+1:], signButton(k, b.Request, b.Channel, b.Identity, b.Action)) {
		return Button{}, errButton
	}
	return b, nil
}

func readButton(ctx context.Context, q db.Queryer, id []byte) (Button, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+`,
		    d.id, d.channel, d.identity, d.chat, d.message, d.button_id
		FROM card_deliveries d
		JOIN approval_requests r ON r.id = d.request_id
		WHERE d.button_id = $1`, id)
	if err != nil {
		return Button{}, fmt.Errorf("read button: %w", err)
	}
	b, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Button])
	if errors.Is(err, pgx.ErrNoRows) {
		return Button{}, errButton
	}
	if err != nil {
		return Button{}, fmt.Errorf("read button: %w", err)
	}
	return b, nil
}
