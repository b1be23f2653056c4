package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
)

// nods are words that people answer a card with. They decide nothing: no word says
// which request is meant, and how far an approval goes.
var nods = map[string]bool{
	"yes": true, "y": true, "yep": true, "yeah": true, "ok": true, "okay": true, "k": true, "sure": true, "fine": true, "go": true, "go ahead": true,
	"do it": true, "approved": true, "no": true, "n": true, "nope": true, "stop": true, "rejected": true, "👍": true, "👌": true, "✅": true, "👎": true,
	"❌": true, ":+1:": true, ":thumbsup:": true, ":ok_hand:": true, ":white_check_mark:": true, ":-1:": true, ":thumbsdown:": true, ":x:": true,
}

// isNod looks past capitals, punctuation and the colour of a thumb.
func isNod(text string) bool {
	plain := strings.Map(func(r rune) rune {
		if r >= 0x1F3FB && r <= 0x1F3FF || r == 0xFE0F {
			return -1
		}
		return r
	}, text)
	return nods[strings.ToLower(strings.Trim(plain, " \t\r\n.!,"))]
}

// cardAnswered is the request whose card, sent to this very person, a text answers:
// as a reply, or in the thread below it. Nil when it answers none.
func (b *Bot) cardAnswered(ctx context.Context, l *line) (*approvals.Request, error) {
	at := []string{l.ev.ReplyTo.Message, l.ev.Message.Thread}
	if !l.ev.Direct || at[0] == "" && at[1] == "" {
		return nil, nil
	}
	var id string
	err := b.Pool.QueryRow(ctx, `
		SELECT request_id
		FROM card_deliveries
		WHERE channel = $1
		  AND identity = $2
		  AND chat IN ($3, $4)
		  AND message = ANY ($5)
		  AND message <> ''
		LIMIT 1`, l.ch.Namespace(), l.ev.Identity, l.ev.ReplyTo.Chat, l.ev.Message.Chat, at).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find answered card: %w", err)
	}
	r, err := approvals.Lookup(ctx, b.Pool, id)
	return &r, err
}

// numbered are the commands whose first word is the number of a request.
var numbered = []string{"approve", "reject", "status", "cancel"}

// nameRequest puts the number of r, whose card is answered, in front of a command's
// words that have none.
func (l *line) nameRequest(r *approvals.Request) {
	if r == nil || l.cmd == nil || !slices.Contains(numbered, l.cmd.name) {
		return
	}
	if len(l.words) > 0 {
		if _, _, ok := candidates(*l); ok {
			return
		}
	}
	l.words = append([]string{fmt.Sprintf("%s#%d", r.AgentID, r.ShortID)}, l.words...)
}

// nod answers words that look like a decision and are none; ok is false for words
// that are meant for the agent.
func (b *Bot) nod(ctx context.Context, l line, answered *approvals.Request) (text string, ok bool, err error) {
	if answered != nil && answered.Status == approvals.Pending {
		return undecided(*answered), true, nil
	}
	if !l.ev.Direct || !isNod(l.ev.Text) {
		return "", false, nil
	}
	var open []approvals.Request
	for _, agentID := range l.who.agents(reviewers) {
		some, err := approvals.List(ctx, b.Pool, agentID, approvals.Filter{Status: approvals.Pending, ReviewerID: l.who.user.ID, Limit: 2})
		if err != nil {
			return "", false, err
		}
		open = append(open, some...)
	}
	switch len(open) {
	case 0:
		return "", false, nil
	case 1:
		return undecided(open[0]), true, nil
	}
	return "Nothing is decided: several requests wait for you. Tap a button on a card, or send pending to see their numbers.", true, nil
}

func undecided(r approvals.Request) string {
	return fmt.Sprintf("Nothing is decided about request #%d. Tap a button on its card, or send: approve %s#%d, or reject %s#%d REASON.",
		r.ShortID, r.AgentID, r.ShortID, r.AgentID, r.ShortID)
}
