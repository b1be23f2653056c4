package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// minToken is the least number of characters that look like a token.
const minToken = 20

// welcome does with somebody who has no role what the agent's access level
// says. Without a reply they are a guest now, and l goes on.
func (b *Bot) welcome(ctx context.Context, l *line) (reply string, err error) {
	agent, err := identity.GetAgent(ctx, b.Pool, b.agentOf(l.who.Channel))
	if isKnown(err, fault.NotFound) {
		return b.toStranger(l.who), nil
	}
	if err != nil {
		return "", err
	}
	switch agent.Access {
	case identity.Public:
		return b.admit(ctx, l)
	case identity.Protected:
		word, rest := firstWord(l.ev.Text)
		if rest == "" && len(word) >= minToken {
			return b.redeem(ctx, l.ev, l.who, word)
		}
		return fmt.Sprintf("Agent %s asks for its access token. Send it here, in your own chat with me: start TOKEN. You are %s.",
			agent.ID, VisibleLine(l.who.String())), nil
	}
	return b.toStranger(l.who), nil
}

func (b *Bot) admit(ctx context.Context, l *line) (reply string, err error) {
	err = db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		_, err := identity.Admit(ctx, tx, b.agentOf(l.who.Channel), l.who.Address, l.who.name)
		return err
	})
	if fault.Is(err, "claimed_person") {
		known, _ := fault.As(err)
		return sentence(known.Message), nil
	}
	if isKnown(err, fault.Forbidden) || isKnown(err, fault.NotFound) {
		return b.toStranger(l.who), nil // changed a moment ago
	}
	if err != nil {
		return "", fmt.Errorf("admit a guest: %w", err)
	}
	b.Hub.Publish(audit.QueuedKey)
	l.who, err = b.personOf(ctx, l.ch, l.ev)
	return "", err
}

// toStranger says what somebody without a role may know.
func (b *Bot) toStranger(who person) string {
	return strings.Join([]string{
		"This bot is private.",
		fmt.Sprintf("An owner of agent %s can invite you.", b.agentOf(who.Channel)),
		fmt.Sprintf("You are %s.", VisibleLine(who.String())),
	}, " ")
}
