package approvals

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/secret"
)

// The actions of a digest's buttons, numbered as those of cards.
const (
	OpenCard     Action = 11 // sends the card of one listed request
	ReviewAll    Action = 12 // shows all that is open in full; decides nothing
	BackToList   Action = 13 // ends ReviewAll
	ApproveThese Action = 14 // each listed call once
	RejectThese  Action = 15
)

// MaxListed is how many requests one digest can list: its tokens have a bit for
// each.
const MaxListed = 24

// Digest is one message that lists several requests for one recipient.
type Digest struct {
	ID                string
	Channel, Identity string
	ButtonID          []byte
	// State is collecting, closed, sent or dissolved.
	State     string
	Reviewing bool
	// Chat and Message are where it is, empty before it was sent.
	Chat, Message string
	ShownHash     string
	// Listed are in the order in which they were asked.
	Listed []Listed `db:"-"`
}

// Listed is a request in a digest.
type Listed struct {
	Request
	DeliveryID string
	// Place stays what it is, whatever becomes of the others.
	Place int
	// Message is the request's own card, empty while the digest alone shows it.
	Message string
}

// ReadDigest gives a digest and what it lists, as they are now. ok is false when
// there is none.
func ReadDigest(ctx context.Context, q db.Queryer, id string) (d Digest, ok bool, err error) {
	return readDigest(ctx, q, "id", id)
}

func readDigest(ctx context.Context, q db.Queryer, column string, value any) (d Digest, ok bool, err error) {
	rows, err := q.Query(ctx, `
		SELECT id, channel, identity, button_id, state, reviewing, chat, message, shown_hash
		FROM card_digests
		WHERE `+column+` = $1`, value)
	if err == nil {
		d, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Digest])
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("read digest: %w", err)
	}
	rows, err = q.Query(ctx, `
		SELECT `+columns+`,
		    d.id, d.digest_place, d.message
		FROM card_deliveries d
		JOIN approval_requests r ON r.id = d.request_id
		WHERE d.digest_id = $1
		ORDER BY r.id`, d.ID)
	if err == nil {
		d.Listed, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Listed])
	}
	if err != nil {
		return d, false, fmt.Errorf("read digest: %w", err)
	}
	return d, true, nil
}

// DigestButton is a button of a digest that Holm made for its recipient.
type DigestButton struct {
	Digest
	Action Action
	// These are the requests that it is about, as the digest listed them: a
	// request's arguments never change.
	These []Listed
}

// A token of a digest is that of a card with a bit for each request it is about
// before the MAC, which covers their ids and the digests of their arguments.
const (
	digestMask = MaxListed / 8
	digestSize = buttonIDSize + 1 + digestMask + buttonMAC
)

// IsDigestButton tells whether a token looks like one of a digest.
func IsDigestButton(token string) bool { return len(token) == buttonText.EncodedLen(digestSize) }

// DigestToken is the data of a button of d about these of its requests.
func DigestToken(k *secret.Keeper, d Digest, a Action, these ...Listed) string {
	mask := 0
	for _, l := range these {
		mask |= 1 << l.Place
	}
	raw := append(append(make([]byte, 0, digestSize), d.ButtonID...), byte(a), byte(mask>>16), byte(mask>>8), byte(mask))
	return buttonText.EncodeToString(append(raw, signDigest(k, d, a, mask, these)...))
}

func signDigest(k *secret.Keeper, d Digest, a Action, mask int, these []Listed) []byte {
	parts := []string{"digest v1", d.ID, d.Channel, d.Identity, strconv.Itoa(int(a)), strconv.Itoa(mask)}
	for _, l := range these {
		parts = append(parts, l.ID, l.ArgsDigest)
	}
	return k.MAC(parts...)[:buttonMAC]
}

// FindDigestButton reads a token of a digest, as FindButton does one of a card.
func FindDigestButton(ctx context.Context, q db.Queryer, k *secret.Keeper, token string) (DigestButton, error) {
	raw, err := buttonText.DecodeString(token)
	if err != nil || len(raw) != digestSize || !IsDigestButton(token) {
		return DigestButton{}, errButton
	}
	d, ok, err := readDigest(ctx, q, "button_id", raw[:buttonIDSize])
	if err != nil {
		return DigestButton{}, err
	}
	b := DigestButton{Digest: d, Action: Action(raw[buttonIDSize])}
	m := raw[buttonIDSize+1:]
	mask := int(m[0])<<16 | int(m[1])<<8 | int(m[2])
	for _, l := range d.Listed {
		if mask&(1<<l.Place) != 0 {
			b.These = append(b.These, l)
		}
	}
	if !ok || !hmac.Equal(m[digestMask:], signDigest(k, d, b.Action, mask, b.These)) {
		return DigestButton{}, errButton
	}
	return b, nil
}
