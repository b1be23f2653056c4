package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holm/internal/session"
)

// chatSession is the session that a person's texts in a chat belong to, with
// one agent: the newest, or a new one. Other people in a group have their own,
// so that each text has one speaker whose role counts.
func (b *Bot) chatSession(ctx context.Context, tx pgx.Tx, l line, agentID string) (session.Session, error) {
	var id string
	err := tx.QueryRow(ctx, `
		SELECT c.session_id
		FROM chats c
		JOIN sessions s ON s.id = c.session_id
		WHERE c.agent_id = $1
		  AND c.channel = $2
		  AND c.identity = $3
		  AND c.chat = $4
		  AND s.requester_id = $5
		ORDER BY c.created_at DESC
		LIMIT 1`, agentID, l.who.Channel, l.who.Identity, l.group(), l.who.user.ID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return b.newChatSession(ctx, tx, l, agentID)
	}
	if err != nil {
		return session.Session{}, fmt.Errorf("find chat: %w", err)
	}
	return session.Get(ctx, tx, agentID, id)
}

func (b *Bot) newChatSession(ctx context.Context, tx pgx.Tx, l line, agentID string) (session.Session, error) {
	s := session.Session{
		ID: "chat:" + uuid.Must(uuid.NewV7()).String(), AgentID: agentID, Kind: session.Chat, RequesterID: l.who.user.ID,
	}
	if err := session.Ensure(ctx, tx, s); err != nil {
		return s, err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO chats (session_id, agent_id, channel, identity, chat, message, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())`,
		s.ID, agentID, l.who.Channel, l.who.Identity, l.group(), l.ev.Message.Message)
	if err != nil {
		return s, fmt.Errorf("store chat: %w", err)
	}
	return s, nil
}

// group is the chat a text came from, empty for the person's own.
func (l line) group() string {
	if l.ev.Direct {
		return ""
	}
	return l.ev.Message.Chat
}
