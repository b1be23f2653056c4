package identity

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
)

var namespace = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// reserved are the namespaces of Holm's own channels: a token for one of them
// could speak for identities that only the platform itself may prove.
var reserved = map[string]bool{"telegram": true, "slack": true, "console": true}

// ValidNamespace tells whether name may be the first part of an identity.
func ValidNamespace(name string) bool { return namespace.MatchString(name) }

// CreateChannel registers an adapter that runs outside this program and gives
// the only copy of its token. Identities it may speak for are those of its
// namespace. The namespaces of Holm's own channels are refused.
func CreateChannel(ctx context.Context, tx pgx.Tx, agentID, name, actor string) (token string, err error) {
	if !ValidNamespace(name) {
		return "", fault.Invalidf("channel %q: want a lower-case letter, then lower-case letters, digits or -, at most 32", name)
	}
	if reserved[name] {
		return "", fault.Invalidf("channel %q is one of Holm's own and cannot be registered", name)
	}
	if _, err := GetAgent(ctx, tx, agentID); err != nil {
		return "", err
	}
	token = "holm_ch_" + secret.Token()
	_, err = tx.Exec(ctx, `
		INSERT INTO channels (namespace, agent_id, token_hash)
		VALUES ($1, $2, $3)`, name, agentID, secret.Hash(token))
	if unique(err) {
		return "", fault.New(fault.Conflict, "exists", "channel %q exists already", name)
	}
	if err != nil {
		return "", fmt.Errorf("create channel: %w", err)
	}
	return token, audit.Write(ctx, tx, audit.Record{
		Kind: "channel_created", AgentID: agentID, Actor: actor, Data: map[string]any{"namespace": name},
	})
}

// FindChannel gives the agent and namespace that a channel token speaks for.
func FindChannel(ctx context.Context, q db.Queryer, token string) (agentID, namespace string, err error) {
	err = q.QueryRow(ctx, `
		SELECT agent_id, namespace
		FROM channels
		WHERE token_hash = $1`, secret.Hash(token)).Scan(&agentID, &namespace)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", fault.New(fault.Unauthenticated, "invalid_token", "the channel token is not valid")
	}
	return agentID, namespace, err
}

// Channel is a registered adapter as it may be shown.
type Channel struct {
	Namespace string
	AgentID   string
	CreatedAt time.Time
}

// ListChannels gives the registered adapters by namespace.
func ListChannels(ctx context.Context, q db.Queryer) ([]Channel, error) {
	rows, err := q.Query(ctx, `
		SELECT namespace, agent_id, created_at
		FROM channels
		ORDER BY namespace`)
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Channel])
}

// RemoveChannel forgets a registered adapter; its token ends at once.
func RemoveChannel(ctx context.Context, tx pgx.Tx, namespace, actor string) error {
	var agentID string
	err := tx.QueryRow(ctx, `
		DELETE FROM channels
		WHERE namespace = $1
		RETURNING agent_id`, namespace).Scan(&agentID)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFoundf("no channel %q", namespace)
	}
	if err != nil {
		return fmt.Errorf("remove channel: %w", err)
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "channel_removed", AgentID: agentID, Actor: actor, Data: map[string]any{"namespace": namespace},
	})
}
