package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
)

// start greets a person who opened the chat anew, and sends what could not be
// sent while it was closed.
func (b *Bot) start(ctx context.Context, l line) (string, error) {
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error { return b.deliverAgain(ctx, tx, l.who.Address) })
	if err != nil {
		return "", err
	}
	who, err := b.whoami(ctx, l)
	return who + "\n\n" + b.overview(l.who), err
}

func (b *Bot) whoami(ctx context.Context, l line) (string, error) {
	lines := []string{fmt.Sprintf("You are %s (%s).", oneLine(l.who.user.Name, maxName), VisibleLine(l.who.String()))}
	for _, r := range l.who.roles {
		lines = append(lines, fmt.Sprintf("You are %s of agent %s.", r.Role, r.AgentID))
	}
	q, err := quietTimeOf(ctx, b.Pool, l.who.Address)
	if err != nil {
		return "", err
	}
	lines = append(lines, q.describe()...)
	return strings.Join(lines, "\n"), nil
}

func (b *Bot) help(_ context.Context, l line) (string, error) {
	if len(l.words) == 0 {
		return b.overview(l.who), nil
	}
	name := strings.ToLower(strings.TrimPrefix(l.words[0], "/"))
	c := b.find(name)
	if c == nil || len(l.who.agents(c.who)) == 0 {
		return b.unknown(l.who, name), nil
	}
	return c.shape() + ": " + c.help, nil
}

// overview lists what a person can do.
func (b *Bot) overview(who person) string {
	var lines []string
	for _, c := range b.commands {
		if len(who.agents(c.who)) > 0 {
			lines = append(lines, c.shape()+": "+c.help)
		}
	}
	if b.PublicURL != "" {
		lines = append(lines, "This is the bot of the Holm at "+b.PublicURL)
	}
	return strings.Join(lines, "\n")
}
