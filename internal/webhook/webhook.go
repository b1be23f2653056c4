// Package webhook tells addresses outside of the events of an agent's
// sessions: signed as the Standard Webhooks specification says
// (standardwebhooks.com), at least once each, tried again for about half a day.
// What an event means belongs to whoever appended it.
package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/secret"
	"holm/internal/session"
)

// Webhook is one address and how it does, as it may be shown.
type Webhook struct {
	ID      string `json:"id"`
	AgentID string `json:"agentId"`
	// URL takes the events, by POST.
	URL string `json:"url"`
	// Events are the types it is told of.
	Events    []string  `json:"events"`
	CreatedAt time.Time `json:"createdAt"`
	// DisabledAt is when its address answered 410 Gone: it is told nothing more.
	DisabledAt *time.Time `json:"disabledAt,omitempty"`
	// DeliveredAt is the last success, FailedAt the last failure, which LastError
	// explains; a success clears LastError.
	DeliveredAt *time.Time `json:"deliveredAt,omitempty"`
	FailedAt    *time.Time `json:"failedAt,omitempty"`
	LastError   string     `json:"lastError,omitempty"`
}

const columns = `id, agent_id, url, events, created_at, disabled_at, delivered_at, failed_at, last_error`

// maxPerAgent bounds the copies that one event may have.
const maxPerAgent = 20

// Create registers an address with the types of events it is told of, from now
// on; none means those of the approval life cycle. It gives the only copy of the
// secret that deliveries are signed with.
func Create(ctx context.Context, tx pgx.Tx, k *secret.Keeper, agentID, address string, events []string, actor string) (Webhook, string, error) {
	if len(events) == 0 {
		events = session.ApprovalTypes()
	}
	if err := check(address, events); err != nil {
		return Webhook{}, "", err
	}
	if err := lockAgent(ctx, tx, agentID); err != nil {
		return Webhook{}, "", err
	}
	id, key := uuid.Must(uuid.NewV7()).String(), make([]byte, 32)
	_, _ = rand.Read(key)
	rows, err := tx.Query(ctx, `
		INSERT INTO webhooks (id, agent_id, url, events, secret, cursor)
		SELECT $1, $2, $3, $4, $5, COALESCE((SELECT max(id) FROM session_events), 0)
		WHERE (SELECT count(*) FROM webhooks WHERE agent_id = $2) < $6
		RETURNING `+columns, id, agentID, address, events, k.Seal(owner(id), key), maxPerAgent)
	if err != nil {
		return Webhook{}, "", fmt.Errorf("store webhook: %w", err)
	}
	w, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Webhook])
	if errors.Is(err, pgx.ErrNoRows) {
		return Webhook{}, "", fault.New(fault.Conflict, "too_many", "agent %q has %d webhooks already", agentID, maxPerAgent)
	}
	if err != nil {
		return Webhook{}, "", fmt.Errorf("store webhook: %w", err)
	}
	return w, encodeKey(key), audit.Write(ctx, tx, audit.Record{
		Kind: "webhook_created", AgentID: agentID, Actor: actor, Data: map[string]any{"webhookId": id, "url": shown(address), "events": events},
	})
}

func check(address string, events []string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return fault.Invalidf("webhook: want an address of the form https://host/path, without credentials")
	}
	for _, event := range events {
		if !slices.Contains(session.Types(), event) {
			return fault.Invalidf("no event is called %q; there are: %s", event, strings.Join(session.Types(), ", "))
		}
	}
	return nil
}

// lockAgent makes sure of the agent, and lets one at a time count its webhooks.
func lockAgent(ctx context.Context, tx pgx.Tx, agentID string) error {
	if _, err := identity.GetAgent(ctx, tx, agentID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1, 0))`, agentID)
	return err
}

// shown is an address without its query, which may hold a token.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

func owner(id string) string { return "webhooks/" + id }

// List gives an agent's webhooks, the oldest first.
func List(ctx context.Context, q db.Queryer, agentID string) ([]Webhook, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM webhooks
		WHERE agent_id = $1
		ORDER BY id`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Webhook])
}

// Remove forgets a webhook; what was not delivered yet is not any more.
func Remove(ctx context.Context, tx pgx.Tx, agentID, id, actor string) error {
	gone, err := tx.Exec(ctx, `
		DELETE FROM webhooks
		WHERE id = $1 AND agent_id = $2`, id, agentID)
	if err != nil {
		return fmt.Errorf("remove webhook: %w", err)
	}
	if gone.RowsAffected() == 0 {
		return fault.NotFoundf("agent %q has no webhook %q", agentID, id)
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "webhook_removed", AgentID: agentID, Actor: actor, Data: map[string]any{"webhookId": id},
	})
}
