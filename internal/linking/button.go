package linking

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/secret"
)

// Action is what a button does. The numbers are part of tokens that people still
// have: never give one another meaning.
type Action byte

// The actions.
const (
	Yes      Action = 1
	No       Action = 2
	FinalYes Action = 3
	Undo     Action = 4
)

// Button is a button that Holm made for one address.
type Button struct {
	Action   Action
	DialogID string // of Yes, No and FinalYes
	Merge    int64  // of Undo
}

// A token is buttonPrefix and, in base64url, 16 bytes of subject, the action and
// 8 bytes of MAC. The prefix sets it apart from the tokens of approval cards.
const (
	buttonPrefix = "l."
	buttonSize   = 16 + 1 + 8
)

var buttonText = base64.RawURLEncoding.Strict()

// Token is the data of a button for the recipient at an address.
func (b Button) Token(k *secret.Keeper, a identity.Address) string {
	raw := make([]byte, 16, buttonSize)
	if b.Action == Undo {
		binary.BigEndian.PutUint64(raw[8:], uint64(b.Merge))
	} else if id, err := uuid.Parse(b.DialogID); err == nil {
		copy(raw, id[:])
	}
	raw = append(raw, byte(b.Action))
	return buttonPrefix + buttonText.EncodeToString(append(raw, sign(k, raw, a)...))
}

// ReadButton reads a token that the person at an address presented; ok is false
// for one that is none of these or was made for somebody else.
func ReadButton(k *secret.Keeper, a identity.Address, token string) (b Button, ok bool) {
	text, ok := strings.CutPrefix(token, buttonPrefix)
	if !ok || len(text) != buttonText.EncodedLen(buttonSize) {
		return b, false
	}
	raw, err := buttonText.DecodeString(text)
	if err != nil || len(raw) != buttonSize || !hmac.Equal(raw[17:], sign(k, raw[:17], a)) {
		return b, false
	}
	b.Action = Action(raw[16])
	if b.Action == Undo {
		b.Merge = int64(binary.BigEndian.Uint64(raw[8:16]))
		return b, true
	}
	b.DialogID = uuid.UUID(raw[:16]).String()
	return b, b.Action >= Yes && b.Action <= FinalYes
}

// IsButton tells whether a token looks like one of these.
func IsButton(token string) bool { return strings.HasPrefix(token, buttonPrefix) }

// Undone is the state that pressing Undo leaves.
const Undone = "undone"

// Press does what a button says for the user at the address it was made for.
func (s *Service) Press(ctx context.Context, b Button, userID string) (d Dialog, err error) {
	if b.Action == Undo {
		_, err := s.UndoOwn(ctx, b.Merge, userID)
		if fault.Is(err, "undone_already") {
			err = nil
		}
		return Dialog{State: Undone}, err
	}
	done := func() {}
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) (err error) {
		d, done, err = s.Answer(ctx, tx, Answer{DialogID: b.DialogID, UserID: userID, Yes: b.Action != No, Final: b.Action == FinalYes})
		return err
	})
	if err == nil {
		done()
	}
	return d, err
}

func sign(k *secret.Keeper, raw []byte, a identity.Address) []byte {
	return k.MAC("link button v1", strconv.Quote(string(raw)), a.Channel, a.Identity)[:8]
}
