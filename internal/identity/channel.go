package identity

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
var reserved = map[string]bool{"telegram": true, "slack": true, "discord": true, "console": true}

// ValidNamespace tells whether name may be the first part of an identity.
func ValidNamespace(name string) bool { return namespace.MatchString(name) }

// MaxLists is the most requests that an adapter may list in one message.
const MaxLists = 24

// CreateChannel registers an adapter that runs outside this program, takes
// cards at address (http or https), and gives the only copy of its token. lists
// is how many requests one of its messages lists, 0 for none.
// Identities it may speak for are those of its namespace. The namespaces of
// Holm's own channels are refused.
func CreateChannel(ctx context.Context, tx pgx.Tx, agentID, name, address string, lists int, actor string) (token string, err error) {
	if !ValidNamespace(name) {
		return "", fault.Invalidf("channel %q: want a lower-case letter, then lower-case letters, digits or -, at most 32", name)
	}
	if reserved[name] {
		return "", fault.Invalidf("channel %q is one of Holm's own: it takes secrets and no address", name)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fault.Invalidf("channel %q: want the adapter's address, http:// or https://, without credentials", name)
	}
	if lists != 0 && (lists < 2 || lists > MaxLists) {
		return "", fault.Invalidf("channel %q: a message lists between 2 and %d requests, or 0 for none", name, MaxLists)
	}
	if _, err := GetAgent(ctx, tx, agentID); err != nil {
		return "", err
	}
	token = "holm_ch_" + secret.Token()
	_, err = tx.Exec(ctx, `
		INSERT INTO channels (namespace, agent_id, url, lists, token_hash)
		VALUES ($1, $2, $3, $4, $5)`, name, agentID, address, lists, secret.Hash(token))
	if unique(err) {
		return "", fault.New(fault.Conflict, "exists", "channel %q exists already", name)
	}
	if err != nil {
		return "", fmt.Errorf("create channel: %w", err)
	}
	return token, audit.Write(ctx, tx, audit.Record{
		Kind: "channel_created", AgentID: agentID, Actor: actor,
		Data: map[string]any{"namespace": name, "after": map[string]any{"namespace": name, "url": address, "lists": lists}},
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
	// URL takes the cards.
	URL string
	// Lists is how many requests one message lists, 0 for none.
	Lists     int
	CreatedAt time.Time
	tokenHash []byte
}

// SigningSecret is what Holm signs messages to the adapter with. It follows
// from the channel's token, so that a new registration has a new one.
func (c Channel) SigningSecret(k *secret.Keeper) []byte {
	return k.MAC("channel signing secret", c.Namespace, string(c.tokenHash))
}

// ListChannels gives the registered adapters by namespace.
func ListChannels(ctx context.Context, q db.Queryer) ([]Channel, error) {
	return readChannels(ctx, q, "")
}

// GetChannel reads one registered adapter.
func GetChannel(ctx context.Context, q db.Queryer, namespace string) (Channel, error) {
	list, err := readChannels(ctx, q, namespace)
	if err == nil && len(list) == 0 {
		return Channel{}, fault.NotFoundf("no channel %q", namespace)
	}
	if err != nil {
		return Channel{}, err
	}
	return list[0], nil
}

func readChannels(ctx context.Context, q db.Queryer, namespace string) ([]Channel, error) {
	rows, err := q.Query(ctx, `
		SELECT namespace, agent_id, url, lists, created_at, token_hash
		FROM channels
		WHERE secrets IS NULL
		  AND ($1 = '' OR namespace = $1)
		ORDER BY namespace`, namespace)
	if err != nil {
		return nil, fmt.Errorf("read channels: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Channel, err error) {
		err = row.Scan(&c.Namespace, &c.AgentID, &c.URL, &c.Lists, &c.CreatedAt, &c.tokenHash)
		return c, err
	})
}

// RemoveChannel forgets a registered adapter, whose token ends at once, or one
// of Holm's own channels that was added.
func RemoveChannel(ctx context.Context, tx pgx.Tx, namespace, actor string) error {
	var agentID, url, mode string
	err := tx.QueryRow(ctx, `
		DELETE FROM channels
		WHERE namespace = $1
		RETURNING agent_id, url, mode`, namespace).Scan(&agentID, &url, &mode)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFoundf("no channel %q", namespace)
	}
	if err != nil {
		return fmt.Errorf("remove channel: %w", err)
	}
	before := map[string]any{"namespace": namespace, "url": url}
	if url == "" {
		before = map[string]any{"namespace": namespace, "mode": mode}
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "channel_removed", AgentID: agentID, Actor: actor, Data: map[string]any{"namespace": namespace, "before": before},
	})
}
