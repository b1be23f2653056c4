package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
)

// ChannelsChanged is published when one of Holm's own channels was added,
// changed or removed.
const ChannelsChanged = "channels"

// OwnChannel is one of Holm's own channels that an operator added while Holm
// ran. Channels that settings name are not stored.
type OwnChannel struct {
	Namespace string
	AgentID   string
	// Mode is how the platform's events arrive, empty for its usual way.
	Mode string
	// Secrets are the platform's tokens by name. They are stored sealed.
	Secrets   map[string]string
	CreatedAt time.Time
	// Version is another one each time that the channel was stored.
	Version string
}

func (c OwnChannel) owner() string { return "channels/" + c.Namespace }

// wire is what the audit log keeps: no secrets, only which there are.
func (c OwnChannel) wire() map[string]any {
	names := make([]string, 0, len(c.Secrets))
	for name := range c.Secrets {
		names = append(names, name)
	}
	slices.Sort(names)
	return map[string]any{"namespace": c.Namespace, "mode": c.Mode, "secrets": names}
}

// AddOwnChannel stores one of Holm's own channels; each namespace has one.
// Whether its secrets can work is the caller's to check.
func AddOwnChannel(ctx context.Context, tx pgx.Tx, k *secret.Keeper, c OwnChannel, actor string) error {
	if !reserved[c.Namespace] || c.Namespace == "console" {
		return fault.Invalidf("channel %q is none of Holm's own; one that runs outside is registered with its address", c.Namespace)
	}
	if _, err := GetAgent(ctx, tx, c.AgentID); err != nil {
		return err
	}
	plain, err := json.Marshal(c.Secrets)
	if err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO channels (namespace, agent_id, url, mode, secrets)
		VALUES ($1, $2, '', $3, $4)`, c.Namespace, c.AgentID, c.Mode, k.Seal(c.owner(), plain))
	if unique(err) {
		return fault.New(fault.Conflict, "exists", "channel %q exists already; remove it first", c.Namespace)
	}
	if err != nil {
		return fmt.Errorf("add channel: %w", err)
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "channel_created", AgentID: c.AgentID, Actor: actor,
		Data: map[string]any{"namespace": c.Namespace, "after": c.wire()},
	})
}

// OwnChannels gives the channels that were added, by namespace.
func OwnChannels(ctx context.Context, q db.Queryer, k *secret.Keeper) ([]OwnChannel, error) {
	rows, err := q.Query(ctx, `
		SELECT namespace, agent_id, mode, secrets, created_at
		FROM channels
		WHERE secrets IS NOT NULL
		ORDER BY namespace`)
	if err != nil {
		return nil, fmt.Errorf("read channels: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c OwnChannel, err error) {
		var sealed []byte
		if err := row.Scan(&c.Namespace, &c.AgentID, &c.Mode, &sealed, &c.CreatedAt); err != nil {
			return c, err
		}
		plain, err := k.Open(c.owner(), sealed)
		if err != nil {
			return c, err
		}
		sum := sha256.Sum256(sealed) // no two seals are alike
		c.Version = hex.EncodeToString(sum[:16])
		return c, json.Unmarshal(plain, &c.Secrets)
	})
}
