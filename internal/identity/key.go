package identity

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/bcrypt"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
)

// KeyScheme begins every key that Holm makes: holm_sk_<prefix>_<secret>.
const KeyScheme = "holm_sk_"

// bcryptCost is 10: about 65 ms on a small machine, paid once per key and
// process, since Keyring remembers a keyed hash afterwards.
const bcryptCost = 10

// Key is one access key as it may be shown; the secret is never kept.
type Key struct {
	Prefix    string     `json:"prefix"`
	AgentID   string     `json:"agentId"`
	UserID    *string    `json:"userId,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
}

// CreateKey makes a key for an agent, optionally bound to a user, and gives
// the only copy of its text. An unknown agent or user, and one who has no role with
// the agent, is NotFound. Publish KeysChanged after the commit.
func CreateKey(ctx context.Context, tx pgx.Tx, agentID, userID string, expires *time.Time, actor string) (text string, err error) {
	prefix := newPrefix()
	text = KeyScheme + prefix + "_" + secret.Token()
	hash, err := bcrypt.GenerateFromPassword([]byte(text), bcryptCost)
	if err != nil {
		return "", fmt.Errorf("hash key: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO agent_keys (prefix, agent_id, hash, user_id, expires_at)
		VALUES ($1, $2, $3, NULLIF($4, ''), $5)`, prefix, agentID, string(hash), userID, expires)
	if missing, ok := foreignKey(err); ok && missing == "agent_keys_user_id_fkey" {
		return "", fault.NotFoundf("no user %q", userID)
	} else if ok {
		return "", fault.NotFoundf("no agent %q", agentID)
	}
	if err != nil {
		return "", fmt.Errorf("store key: %w", err)
	}
	if err := hasRole(ctx, tx, agentID, userID); err != nil {
		return "", err
	}
	return text, audit.Write(ctx, tx, audit.Record{
		Kind: "key_created", AgentID: agentID, Actor: actor,
		Data: map[string]any{"prefix": prefix, "userId": userID, "expiresAt": expires},
	})
}

// hasRole refuses a key for somebody whose key would be of no use.
func hasRole(ctx context.Context, tx pgx.Tx, agentID, userID string) error {
	if userID == "" {
		return nil
	}
	role, err := RoleOf(ctx, tx, agentID, userID)
	if err != nil {
		return fmt.Errorf("read role: %w", err)
	}
	if role == "" {
		return fault.NotFoundf("agent %q has no member %q: a key speaks for somebody with a role there", agentID, userID)
	}
	return nil
}

// revokeKeysOf ends the keys of an agent that are bound to a person, and gives
// their prefixes.
func revokeKeysOf(ctx context.Context, tx pgx.Tx, agentID, userID, actor string) ([]string, error) {
	rows, err := tx.Query(ctx, `
		UPDATE agent_keys
		SET revoked_at = now()
		WHERE agent_id = $1
		  AND revoked_at IS NULL
		  AND user_id IN (`+personOf("$2")+`)
		RETURNING prefix`, agentID, userID)
	if err != nil {
		return nil, fmt.Errorf("revoke keys: %w", err)
	}
	revoked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("revoke keys: %w", err)
	}
	return revoked, auditKeys(ctx, tx, agentID, revoked, actor)
}

func auditKeys(ctx context.Context, tx pgx.Tx, agentID string, revoked []string, actor string) error {
	for _, prefix := range revoked {
		if err := auditKey(ctx, tx, "key_revoked", agentID, prefix, actor); err != nil {
			return err
		}
	}
	return nil
}

func newPrefix() string {
	b := make([]byte, 5)
	rand.Read(b)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b))
}

// RotateKeys revokes all keys of an agent, those bound to users too, and makes a
// new bare one. Publish KeysChanged after the commit.
func RotateKeys(ctx context.Context, tx pgx.Tx, agentID, actor string) (text string, err error) {
	if _, err := GetAgent(ctx, tx, agentID); err != nil {
		return "", err
	}
	rows, err := tx.Query(ctx, `
		UPDATE agent_keys
		SET revoked_at = now()
		WHERE agent_id = $1
		  AND revoked_at IS NULL
		RETURNING prefix`, agentID)
	if err != nil {
		return "", fmt.Errorf("revoke keys: %w", err)
	}
	revoked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", fmt.Errorf("revoke keys: %w", err)
	}
	if err := auditKeys(ctx, tx, agentID, revoked, actor); err != nil {
		return "", err
	}
	return CreateKey(ctx, tx, agentID, "", nil, actor)
}

// RevokeKey ends one key. Publish KeysChanged after the commit.
func RevokeKey(ctx context.Context, tx pgx.Tx, prefix, actor string) error {
	var agentID string
	err := tx.QueryRow(ctx, `
		UPDATE agent_keys
		SET revoked_at = now()
		WHERE prefix = $1
		  AND revoked_at IS NULL
		RETURNING agent_id`, strings.TrimPrefix(prefix, KeyScheme)).Scan(&agentID)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFoundf("no live key with prefix %q", prefix)
	}
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	return auditKey(ctx, tx, "key_revoked", agentID, strings.TrimPrefix(prefix, KeyScheme), actor)
}

func auditKey(ctx context.Context, tx pgx.Tx, kind, agentID, prefix, actor string) error {
	return audit.Write(ctx, tx, audit.Record{
		Kind: kind, AgentID: agentID, Actor: actor, Data: map[string]any{"prefix": prefix},
	})
}

// ListKeys gives an agent's keys, the newest first.
func ListKeys(ctx context.Context, q db.Queryer, agentID string) ([]Key, error) {
	rows, err := q.Query(ctx, `
		SELECT prefix, agent_id, user_id, created_at, expires_at, revoked_at
		FROM agent_keys
		WHERE agent_id = $1
		ORDER BY created_at DESC, prefix`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Key])
}
