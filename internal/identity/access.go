package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
	"holm/policy"
)

// The access levels: what an agent's bot does with somebody it does not know.
const (
	// Public makes everybody who writes a guest.
	Public = "public"
	// Protected makes those guests who present the access token.
	Protected = "protected"
	// Private turns them away; people come by invitation.
	Private = "private"
)

// SetAccess changes an agent's access level; empty keeps it. An agent that
// becomes protected gets an access token, whose only copy is given, and so does
// one that is protected with rotate. A token of before is worth nothing then.
func SetAccess(ctx context.Context, tx pgx.Tx, agentID, level string, rotate bool, actor string) (token string, err error) {
	if level != "" && !slices.Contains([]string{Public, Protected, Private}, level) {
		return "", fault.Invalidf("access %q: want public, protected or private", level)
	}
	var before string
	err = tx.QueryRow(ctx, `SELECT access FROM agents WHERE id = $1 FOR UPDATE`, agentID).Scan(&before)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fault.NotFoundf("no agent %q", agentID)
	}
	if err != nil {
		return "", fmt.Errorf("read access: %w", err)
	}
	if level == "" {
		level = before
	}
	if rotate && level != Protected {
		return "", fault.Invalidf("agent %q is %s; only a protected one has an access token", agentID, level)
	}
	keep := level == before && !rotate
	var hash []byte
	if level == Protected && !keep {
		token = secret.Token()
		hash = secret.Hash(token)
	}
	_, err = tx.Exec(ctx, `
		UPDATE agents
		SET access = $2,
		    access_token_hash = CASE WHEN $4 THEN access_token_hash ELSE $3 END
		WHERE id = $1`, agentID, level, hash, keep)
	if err != nil {
		return "", fmt.Errorf("set access: %w", err)
	}
	return token, audit.Write(ctx, tx, audit.Record{Kind: "access_changed", AgentID: agentID, Actor: actor,
		Data: map[string]any{"before": before, "after": level, "newToken": token != ""}})
}

// Admit makes somebody who writes to the bot of a public agent its guest; who
// has a role keeps it. An agent that is not public is Forbidden.
func Admit(ctx context.Context, tx pgx.Tx, agentID string, a Address, name string) (Membership, error) {
	var level string
	err := tx.QueryRow(ctx, `SELECT access FROM agents WHERE id = $1 FOR SHARE`, agentID).Scan(&level)
	if errors.Is(err, pgx.ErrNoRows) {
		return Membership{}, fault.NotFoundf("no agent %q", agentID)
	}
	if err != nil {
		return Membership{}, fmt.Errorf("read access: %w", err)
	}
	if level != Public {
		return Membership{}, fault.New(fault.Forbidden, "not_public", "agent %q is %s", agentID, level)
	}
	return enter(ctx, tx, agentID, policy.Guest, a, name)
}

// presentAccess makes whoever presents a protected agent's access token its
// guest.
func presentAccess(ctx context.Context, tx pgx.Tx, token string, a Address, name string) (Membership, error) {
	var agentID string
	err := tx.QueryRow(ctx, `
		SELECT id
		FROM agents
		WHERE access = 'protected'
		  AND access_token_hash = $1
		FOR SHARE`, secret.Hash(token)).Scan(&agentID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Membership{}, errInvite
	}
	if err != nil {
		return Membership{}, fmt.Errorf("find access token: %w", err)
	}
	return enter(ctx, tx, agentID, policy.Guest, a, name)
}

// enter gives the person at an address a role, unless they have one as high.
func enter(ctx context.Context, tx pgx.Tx, agentID string, role policy.Role, a Address, name string) (Membership, error) {
	m := Membership{AgentID: agentID}
	var err error
	if m.User, err = EnsureUser(ctx, tx, a, name); err != nil {
		return m, err
	}
	if m.Role, err = RoleOf(ctx, tx, agentID, m.User.ID); err != nil {
		return m, err
	}
	if m.Role == "" || higher(role, m.Role) {
		if err := Join(ctx, tx, agentID, m.User.ID, role, "user:"+m.User.ID); err != nil {
			return m, err
		}
		m.Role = role
	}
	return m, nil
}

// higher tells whether a stands above b.
func higher(a, b policy.Role) bool {
	order := []policy.Role{policy.Guest, policy.User, policy.Owner}
	return slices.Index(order, a) > slices.Index(order, b)
}

const (
	// maxTries is how many wrong tokens somebody may present within tryPause.
	// Tokens have 192 bits; this keeps guessing out of the database and the log.
	maxTries = 10
	tryPause = 10 * time.Minute
)

// Try lets somebody present a token, unless they presented too many wrong ones
// lately, in whatever process: that is Forbidden throttled, and do is not asked.
// do fails with a Gone when the token is wrong. q must be outside do's
// transaction, so that a wrong try is counted when that one is undone.
func Try(ctx context.Context, q db.Queryer, a Address, do func() error) error {
	// Counted before, and taken back after a right one: tries at once count too.
	var wrong int
	err := q.QueryRow(ctx, `
		INSERT INTO token_tries AS t (channel, identity, wrong)
		VALUES ($1, $2, 1)
		ON CONFLICT (channel, identity) DO UPDATE
		SET wrong = CASE WHEN t.since < now() - $3::interval THEN 1 ELSE least(t.wrong, 1000) + 1 END,
		    since = CASE WHEN t.since < now() - $3::interval THEN now() ELSE t.since END
		RETURNING wrong`, a.Channel, a.Identity, tryPause).Scan(&wrong)
	if err != nil {
		return fmt.Errorf("count tries: %w", err)
	}
	if wrong > maxTries {
		return fault.New(fault.Forbidden, "throttled", "too many wrong tokens; wait ten minutes")
	}
	err = do()
	if f, ok := fault.As(err); ok && f.Kind == fault.Gone {
		return err
	}
	_, failed := q.Exec(ctx, `
		UPDATE token_tries
		SET wrong = greatest(wrong - 1, 0)
		WHERE channel = $1
		  AND identity = $2`, a.Channel, a.Identity)
	return errors.Join(err, failed)
}

// ForgetTries deletes up to limit counts of wrong tokens that nobody added to
// since before, which is longer ago than they count, and gives how many.
func ForgetTries(ctx context.Context, q db.Queryer, before time.Time, limit int) (int64, error) {
	tag, err := q.Exec(ctx, `
		DELETE FROM token_tries
		WHERE (channel, identity) IN (
		    SELECT channel, identity
		    FROM token_tries
		    WHERE since < $1
		    LIMIT $2)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("prune token_tries: %w", err)
	}
	return tag.RowsAffected(), nil
}
