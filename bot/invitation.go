package bot

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// redeem uses an invitation for the person who sent it. Somebody who may
// decide then is sent the cards of what waits.
func (b *Bot) redeem(ctx context.Context, ev Event, who person, token string) (string, error) {
	if !ev.Direct {
		return "A token works only here, in your own chat with me. Others may have read that one: ask for a new one.", nil
	}
	var m identity.Membership
	var asked bool
	err := identity.Try(ctx, b.Pool, who.Address, func() error {
		if err := b.presentLink(ctx, who, token); !fault.Is(err, "link_invalid") {
			asked = err == nil
			return err
		}
		return db.InTx(ctx, b.Pool, func(tx pgx.Tx) (err error) {
			if m, err = identity.Redeem(ctx, tx, token, who.Address, who.name); err != nil {
				return err
			}
			if err := b.Approvals.DeliverOpen(ctx, tx, m.AgentID); err != nil {
				return err
			}
			return b.deliverAgain(ctx, tx, who.Address)
		})
	})
	if f, ok := fault.As(err); ok && told[f.Kind] {
		return sentence(f.Message), nil
	}
	if err != nil {
		return "", fmt.Errorf("redeem invitation: %w", err)
	}
	if asked {
		return "", nil // the question comes as a message of its own
	}
	b.Hub.Publish(audit.QueuedKey)
	return greeting(m), nil
}

func greeting(m identity.Membership) string {
	if m.Role != policy.Owner {
		return fmt.Sprintf("You are now %s of agent %s. I tell you here how your requests are decided. Send help for what you can do.", m.Role, m.AgentID)
	}
	return fmt.Sprintf("You are now owner of agent %s. When one of its calls needs approval, I ask you here. Send help for what you can do.", m.AgentID)
}
