package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
)

// Profile is all that is known of a person.
type Profile struct {
	User
	Identities []string    `json:"identities"`
	Roles      []AgentRole `json:"roles"`
	// Merges made the person of several users; each can be undone by its number.
	Merges []Merge `json:"merges"`
}

// GetProfile reads a person by a user's id or an identity such as
// telegram:123456.
func GetProfile(ctx context.Context, q db.Queryer, name string) (p Profile, err error) {
	if p.User, err = namedUser(ctx, q, name); err != nil {
		return p, err
	}
	addresses, err := Addresses(ctx, q, p.ID)
	if err != nil {
		return p, err
	}
	p.Identities = []string{}
	for _, a := range addresses {
		p.Identities = append(p.Identities, a.String())
	}
	if p.Roles, err = RolesOf(ctx, q, p.ID); err != nil {
		return p, err
	}
	p.Merges, err = Merges(ctx, q, p.ID)
	return p, err
}

// namedUser finds the user whom an id or an identity names.
func namedUser(ctx context.Context, q db.Queryer, name string) (User, error) {
	a, err := ParseAddress(name)
	if err != nil {
		return GetUser(ctx, q, name)
	}
	user, ok, err := FindUser(ctx, q, a)
	if err == nil && !ok {
		err = fault.NotFoundf("nobody is known as %q", name)
	}
	return user, err
}

// ParseAddress reads an identity such as telegram:123456 or slack:T01/U02.
func ParseAddress(text string) (Address, error) {
	channel, who, ok := strings.Cut(text, ":")
	if !ok || !ValidNamespace(channel) || strings.TrimSpace(who) == "" || len(who) > 200 || strings.ContainsAny(who, "\x00 \n") {
		return Address{}, fault.Invalidf("identity %q: want a channel and who it is there, such as telegram:123456", text)
	}
	return Address{Channel: channel, Identity: who}, nil
}

// AddIdentity makes an address one of a user's, so that whoever has it is that
// person. One that somebody else has is a Conflict: merge the two instead. On the
// word of an agent's owners it is claimedBy that agent, which is empty on the
// operator's; that confirms one that was claimed before.
func AddIdentity(ctx context.Context, tx pgx.Tx, userID string, a Address, claimedBy, actor string) error {
	user, err := GetUser(ctx, tx, userID)
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO user_identities (channel, channel_user_id, user_id, name, claimed_by)
		VALUES ($1, $2, $3, $4, NULLIF($5, ''))
		ON CONFLICT (channel, channel_user_id) DO NOTHING`, a.Channel, a.Identity, user.ID, user.Name, claimedBy)
	if err != nil {
		return fmt.Errorf("add identity: %w", err)
	}
	if tag.RowsAffected() == 0 {
		other, _, err := FindUser(ctx, tx, a)
		if err == nil && other.ID == user.ID && claimedBy == "" {
			return confirmIdentity(ctx, tx, user.ID, a, actor)
		}
		if err != nil || other.ID == user.ID {
			return err
		}
		return fault.New(fault.Conflict, "identity_taken", "%s is user %s (%s); merge the two instead", a, other.ID, other.Name)
	}
	return identityChanged(ctx, tx, "identity_linked", user.ID, a, actor)
}

// confirmIdentity makes an address that was claimed the user's own.
func confirmIdentity(ctx context.Context, tx pgx.Tx, userID string, a Address, actor string) error {
	tag, err := tx.Exec(ctx, `
		UPDATE user_identities
		SET claimed_by = NULL
		WHERE channel = $1
		  AND channel_user_id = $2
		  AND claimed_by IS NOT NULL`, a.Channel, a.Identity)
	if err != nil {
		return fmt.Errorf("confirm identity: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return identityChanged(ctx, tx, "identity_confirmed", userID, a, actor)
}

// RemoveIdentity takes an address from a user, who ever has it then is a
// stranger. One that came with a merge is Conflict came_by_merge, whose data name
// it: undo that. The last one of the last owner of an agent goes by force alone:
// nobody could be asked any more.
func RemoveIdentity(ctx context.Context, tx pgx.Tx, userID string, a Address, force bool, actor string) error {
	user, err := GetUser(ctx, tx, userID)
	if err != nil {
		return err
	}
	var holder string
	var merge *int64
	err = tx.QueryRow(ctx, `
		SELECT COALESCE(max(i.user_id), ''), max(m.number)
		FROM user_identities i
		LEFT JOIN user_merges m ON m.undone_at IS NULL AND m.source_id = i.user_id
		WHERE i.channel = $1
		  AND i.channel_user_id = $2
		  AND i.user_id IN (`+personOf("$3")+`)`, a.Channel, a.Identity, userID).Scan(&holder, &merge)
	if err != nil {
		return fmt.Errorf("find identity: %w", err)
	}
	switch {
	case holder == "":
		return fault.NotFoundf("user %q is not known as %s", userID, a)
	case merge != nil:
		return &fault.Error{Kind: fault.Conflict, Code: cameByMerge, Data: map[string]any{"merge": *merge},
			Message: fmt.Sprintf("%s belongs to a user who was merged; undo merge %d", a, *merge)}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM user_identities WHERE channel = $1 AND channel_user_id = $2`, a.Channel, a.Identity); err != nil {
		return fmt.Errorf("remove identity: %w", err)
	}
	if err := stillAsked(ctx, tx, user.ID, force); err != nil {
		return err
	}
	return identityChanged(ctx, tx, "identity_unlinked", user.ID, a, actor)
}

const cameByMerge = "came_by_merge"

// CameByMerge gives the merge that RemoveIdentity says is to be undone.
func CameByMerge(err error) (number int64, ok bool) {
	f, _ := fault.As(err)
	if f == nil || f.Code != cameByMerge {
		return 0, false
	}
	data, _ := f.Data.(map[string]any)
	number, ok = data["merge"].(int64)
	return number, ok
}

// stillAsked refuses to leave an agent of the user without an owner who has an
// address.
func stillAsked(ctx context.Context, tx pgx.Tx, userID string, force bool) error {
	roles, err := RolesOf(ctx, tx, userID)
	if err != nil || force {
		return err
	}
	for _, r := range roles {
		owners, err := Owners(ctx, tx, r.AgentID)
		if err != nil {
			return err
		}
		if r.Role == "owner" && len(owners) == 0 {
			return fault.New(fault.Conflict, "last_owner", "no owner of agent %q could be asked any more; force it if that is meant", r.AgentID)
		}
	}
	return nil
}

func identityChanged(ctx context.Context, tx pgx.Tx, kind, userID string, a Address, actor string) error {
	roles, err := RolesOf(ctx, tx, userID)
	if err != nil {
		return err
	}
	if len(roles) == 0 {
		roles = []AgentRole{{}}
	}
	for _, r := range roles {
		err := audit.Write(ctx, tx, audit.Record{Kind: kind, AgentID: r.AgentID, Actor: actor,
			Data: map[string]any{"userId": userID, "channel": a.Channel, "identity": a.Identity}})
		if err != nil {
			return err
		}
	}
	return nil
}
