package bot

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/identity"
)

// ClosedRoute is a person who cannot be written to on a channel, as far as is
// known: their cards go to their other channels and to the other owners.
type ClosedRoute struct {
	Channel  string    `json:"channel"`
	Identity string    `json:"identity"`
	Name     string    `json:"name,omitempty"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
}

// ClosedRoutes lists them, the longest closed first.
func (b *Bot) ClosedRoutes(ctx context.Context) ([]ClosedRoute, error) {
	rows, err := b.Pool.Query(ctx, `
		SELECT c.channel, c.identity, COALESCE(u.name, ''), c.reason, c.closed_at
		FROM closed_routes c
		LEFT JOIN user_identities i ON i.channel = c.channel AND i.channel_user_id = c.identity
		LEFT JOIN users u ON u.id = i.user_id
		ORDER BY c.closed_at, c.channel, c.identity`)
	if err != nil {
		return nil, fmt.Errorf("list closed routes: %w", err)
	}
	routes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ClosedRoute])
	if err != nil {
		return nil, fmt.Errorf("list closed routes: %w", err)
	}
	return routes, nil
}

// closeRoute notes that a person cannot be written to. It is tried all the same
// the next time: nobody but the person can tell when it works again.
func (b *Bot) closeRoute(ctx context.Context, q db.Queryer, a identity.Address, reason string) error {
	_, err := q.Exec(ctx, `
		INSERT INTO closed_routes (channel, identity, reason)
		VALUES ($1, $2, $3)
		ON CONFLICT (channel, identity) DO UPDATE
		SET reason = excluded.reason`, a.Channel, a.Identity, reason)
	if err != nil {
		return fmt.Errorf("note closed route: %w", err)
	}
	return nil
}

// openRoute notes that a person can be written to, and sends what could not be
// sent meanwhile.
func (b *Bot) openRoute(ctx context.Context, a identity.Address) error {
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			DELETE FROM closed_routes
			WHERE channel = $1
			  AND identity = $2`, a.Channel, a.Identity)
		if err != nil {
			return fmt.Errorf("note open route: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		return b.deliverAgain(ctx, tx, a)
	})
}

// noteRoute learns from what a person did whether they can be written to. Only
// the direct chat tells: a group says nothing of it.
func (b *Bot) noteRoute(ctx context.Context, namespace string, ev Event) error {
	a := identity.Address{Channel: namespace, Identity: ev.Identity}
	switch {
	case ev.Kind == Left:
		_, known, err := identity.FindUser(ctx, b.Pool, a)
		if err != nil || !known { // of strangers nothing is kept
			return err
		}
		return b.closeRoute(ctx, b.Pool, a, "the person has blocked the bot")
	case ev.Kind == Joined || ev.Direct:
		return b.openRoute(ctx, a)
	}
	return nil
}
