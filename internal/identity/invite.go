package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/fault"
	"holm/internal/secret"
	"holm/policy"
)

// InviteTTL is how long an invitation can be used.
const InviteTTL = 24 * time.Hour

// CreateInvite makes a one-time token that gives whoever presents it first the
// role. Only its hash is stored.
func CreateInvite(ctx context.Context, tx pgx.Tx, agentID string, role policy.Role, actor string) (token string, err error) {
	if _, err := GetAgent(ctx, tx, agentID); err != nil {
		return "", err
	}
	token = secret.Token()
	_, err = tx.Exec(ctx, `
		INSERT INTO link_tokens (token_hash, agent_id, role, created_by, expires_at)
		VALUES ($1, $2, $3, $4, now() + $5)`, secret.Hash(token), agentID, role, actor, InviteTTL)
	if err != nil {
		return "", fmt.Errorf("store invitation: %w", err)
	}
	return token, audit.Write(ctx, tx, audit.Record{
		Kind: "invite_created", AgentID: agentID, Actor: actor, Data: map[string]any{"role": role},
	})
}

// Membership is what an invitation gave.
type Membership struct {
	AgentID string
	User    User
	Role    policy.Role
}

// Redeem uses an invitation, or a protected agent's access token, for the person at an address, and tells which role they
// have then: a higher one that they had stays. A token that is unknown, used or
// expired is Gone, with nothing changed. The same person presenting it again is
// told of the membership they have, and gets none anew when it was taken away.
func Redeem(ctx context.Context, tx pgx.Tx, token string, a Address, name string) (Membership, error) {
	var m Membership
	var role policy.Role
	err := tx.QueryRow(ctx, `
		UPDATE link_tokens
		SET used_at = now(),
		    used_by = $2
		WHERE token_hash = $1
		  AND used_at IS NULL
		  AND expires_at > now()
		RETURNING agent_id, role`, secret.Hash(token), a.String()).Scan(&m.AgentID, &role)
	if errors.Is(err, pgx.ErrNoRows) {
		return redeemed(ctx, tx, token, a, name)
	}
	if err != nil {
		return m, fmt.Errorf("redeem invitation: %w", err)
	}
	return enter(ctx, tx, m.AgentID, role, a, name)
}

var errInvite = fault.New(fault.Gone, "invite_invalid",
	"this token is not valid: an invitation may have been used or have expired; ask for a new one")

// redeemed finds the membership of somebody who used the token before.
func redeemed(ctx context.Context, tx pgx.Tx, token string, a Address, name string) (m Membership, err error) {
	err = tx.QueryRow(ctx, `
		SELECT agent_id
		FROM link_tokens
		WHERE token_hash = $1
		  AND used_by = $2`, secret.Hash(token), a.String()).Scan(&m.AgentID)
	if errors.Is(err, pgx.ErrNoRows) {
		return presentAccess(ctx, tx, token, a, name)
	}
	if err != nil {
		return m, fmt.Errorf("redeem invitation: %w", err)
	}
	var known bool
	if m.User, known, err = FindUser(ctx, tx, a); err != nil {
		return m, err
	}
	if m.Role, err = RoleOf(ctx, tx, m.AgentID, m.User.ID); err == nil && (!known || m.Role == "") {
		return Membership{}, errInvite
	}
	return m, err
}
