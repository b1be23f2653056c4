package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
)

// Tally counts the cards of a channel of the last 24 hours.
type Tally struct {
	// Queued are on their way; Failed are those whose last send or edit failed,
	// Unreachable those that reached nobody.
	Queued      int `json:"queued"`
	Failed      int `json:"failed"`
	Unreachable int `json:"unreachable"`
}

// Tallies counts cards by channel.
func Tallies(ctx context.Context, q db.Queryer) (map[string]Tally, error) {
	rows, err := q.Query(ctx, `
		SELECT channel,
		    count(*) FILTER (WHERE state = 'queued'),
		    count(*) FILTER (WHERE state <> 'unreachable' AND last_error <> ''),
		    count(*) FILTER (WHERE state = 'unreachable')
		FROM card_deliveries
		WHERE created_at > now() - interval '24 hours'
		GROUP BY channel`)
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	tallies := map[string]Tally{}
	var channel string
	var t Tally
	_, err = pgx.ForEachRow(rows, []any{&channel, &t.Queued, &t.Failed, &t.Unreachable}, func() error {
		tallies[channel] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	return tallies, nil
}

// FailedDelivery is a card whose last send or edit failed.
type FailedDelivery struct {
	AgentID  string `json:"agentId"`
	ShortID  int    `json:"shortId"`
	Identity string `json:"identity"`
	Name     string `json:"name,omitempty"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error"`
	// QueuedAt is when the card was made.
	QueuedAt time.Time `json:"queuedAt"`
}

// FailedDeliveries lists the last 20 of a channel, the newest first.
func FailedDeliveries(ctx context.Context, q db.Queryer, channel string) ([]FailedDelivery, error) {
	rows, err := q.Query(ctx, `
		SELECT r.agent_id, r.short_id, d.identity, u.name, d.state, d.attempts, d.last_error, d.created_at
		FROM card_deliveries d
		JOIN approval_requests r ON r.id = d.request_id
		JOIN users u ON u.id = d.user_id
		WHERE d.channel = $1
		  AND d.last_error <> ''
		ORDER BY d.created_at DESC, d.id DESC
		LIMIT 20`, channel)
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[FailedDelivery])
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries: %w", err)
	}
	return list, nil
}
