package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/internal/db"
	"holm/internal/identity"
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
		  AND s.ended_at IS NULL
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
		s.ID, agentID, l.who.Channel, l.who.Identity, l.group(), "")
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

// thread is the message in whose thread of the person's own chat all goes that
// follows it later; zero where it stands in none.
func (l line) thread() MessageRef {
	if l.ev.Direct && l.ev.Message.Thread != "" {
		return l.ev.Message
	}
	return MessageRef{}
}

// toAgent stores a text for the agent's programs, in the person's session. The
// agent answers; where nobody listens the bot says so.
func (b *Bot) toAgent(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	if l.rest == "" {
		return "", misuse("What should I say?")
	}
	return b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		s, err := b.chatSession(ctx, tx, l, agentID)
		if err != nil {
			return done, err
		}
		done.wakes = session.Keys(agentID, s.ID)
		if err := b.answersGoTo(ctx, tx, s, l.ev.Message); err != nil {
			return done, err
		}
		_, err = session.Post(ctx, tx, b.Jobs, s, l.who.user.ID, session.Message{Text: l.rest, Name: l.who.user.Name})
		if err != nil {
			return done, err
		}
		attached, err := session.Attached(ctx, tx, agentID)
		switch {
		case err != nil:
			return done, err
		case !attached:
			done.reply = b.nobody(l, agentID)
			return done, nil
		}
		return done, b.queueTyping(ctx, tx, l, agentID, "")
	})
}

// nobody says that no program of the agent listens.
func (b *Bot) nobody(l line, agentID string) string {
	text := fmt.Sprintf("No program of agent %s listens now; it finds your message when it comes.", agentID)
	if verb, _ := firstWord(l.rest); verb != "" {
		if near := b.nearest(strings.ToLower(verb), l.who); near != nil {
			text += fmt.Sprintf(" Did you mean: %s?", near.shape())
		}
	}
	return text + " Send help for what I can do myself."
}

// answersGoTo notes the message that the next answer in a group replies to.
func (b *Bot) answersGoTo(ctx context.Context, tx pgx.Tx, s session.Session, at MessageRef) error {
	ref, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if _, err := tx.Exec(ctx, `UPDATE chats SET message = $2 WHERE session_id = $1`, s.ID, string(ref)); err != nil {
		return fmt.Errorf("note message: %w", err)
	}
	return nil
}

// fresh begins a new session, and ends those before it in the same chat: what an
// agent's program still does for them is not done in the person's name any more.
func (b *Bot) fresh(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	return b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		if err := endChats(ctx, tx, l, agentID); err != nil {
			return done, err
		}
		_, err = b.newChatSession(ctx, tx, l, agentID)
		done.reply = fmt.Sprintf("A fresh conversation with agent %s begins here.", agentID)
		return done, err
	})
}

func endChats(ctx context.Context, tx pgx.Tx, l line, agentID string) error {
	rows, err := tx.Query(ctx, `
		SELECT session_id
		FROM chats
		WHERE agent_id = $1
		  AND channel = $2
		  AND identity = $3
		  AND chat = $4`, agentID, l.who.Channel, l.who.Identity, l.group())
	if err != nil {
		return fmt.Errorf("read chats: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("read chats: %w", err)
	}
	return session.End(ctx, tx, ids...)
}

// answerWorker works session.DeliverArgs.
type answerWorker struct {
	river.WorkerDefaults[session.DeliverArgs]
	bot *Bot
}

// NextRetry implements river.Worker.
func (w *answerWorker) NextRetry(job *river.Job[session.DeliverArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work hands an agent's answer to a job that sends it to the chat of its
// session, if its person still is a member and the account theirs.
func (w *answerWorker) Work(ctx context.Context, job *river.Job[session.DeliverArgs]) error {
	b := w.bot
	var n noticeArgs
	var userID, group, at string
	var payload []byte
	err := b.Pool.QueryRow(ctx, `
		SELECT e.payload, c.agent_id, c.channel, c.identity, c.chat, c.message, s.requester_id
		FROM session_events e
		JOIN chats c ON c.session_id = e.session_id
		JOIN sessions s ON s.id = e.session_id
		WHERE e.id = $1`, job.Args.EventID).Scan(&payload, &n.AgentID, &n.Channel, &n.Identity, &group, &at, &userID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // deleted with its agent
	}
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	var m session.Message
	if err := json.Unmarshal(payload, &m); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	_ = json.Unmarshal([]byte(at), &n.ReplyTo) // without one the answer goes to the direct chat
	if group == "" && n.ReplyTo.Thread == "" {
		n.ReplyTo = MessageRef{} // there is one place for it, and no need to quote
	}
	role, err := identity.RoleOf(ctx, b.Pool, n.AgentID, userID)
	if err != nil || role == "" {
		return err
	}
	still, err := b.speaksFor(ctx, identity.Address{Channel: n.Channel, Identity: n.Identity}, userID)
	if err != nil || !still {
		return err
	}
	n.Text, n.Lasting = Visible(m.Text), true
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if err := b.queue(ctx, tx, n); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}
