package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/policy"
)

// User is a person. A merged user points to the one that lives on; look-ups
// here follow it.
type User struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// Address is a person's identity on one channel, e.g. telegram and 123456.
type Address struct {
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
}

func (a Address) String() string { return a.Channel + ":" + a.Identity }

// FindUser gives the user behind an address; ok is false for strangers.
func FindUser(ctx context.Context, q db.Queryer, a Address) (user User, ok bool, err error) {
	rows, err := q.Query(ctx, `
		SELECT live.id, live.name, live.created_at
		FROM user_identities i
		JOIN users u ON u.id = i.user_id
		JOIN users live ON live.id = COALESCE(u.merged_into, u.id)
		WHERE i.channel = $1
		  AND i.channel_user_id = $2`, a.Channel, a.Identity)
	if err != nil {
		return User{}, false, fmt.Errorf("find user: %w", err)
	}
	user, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[User])
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, false, nil
	}
	return user, err == nil, err
}

// EnsureUser gives the user behind an address, making one when there is none.
func EnsureUser(ctx context.Context, tx pgx.Tx, a Address, name string) (User, error) {
	if user, ok, err := FindUser(ctx, tx, a); ok || err != nil {
		return user, err
	}
	if name == "" {
		name = a.String()
	}
	id := uuid.Must(uuid.NewV7()).String()
	if _, err := tx.Exec(ctx, `INSERT INTO users (id, name) VALUES ($1, $2)`, id, name); err != nil {
		return User{}, fmt.Errorf("create user: %w", err)
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO user_identities (channel, channel_user_id, user_id, name)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (channel, channel_user_id) DO NOTHING`, a.Channel, a.Identity, id, name)
	if err != nil {
		return User{}, fmt.Errorf("create identity: %w", err)
	}
	if tag.RowsAffected() == 0 {
		if _, err := tx.Exec(ctx, `DELETE FROM users WHERE id = $1`, id); err != nil {
			return User{}, fmt.Errorf("drop superfluous user: %w", err)
		}
	}
	user, _, err := FindUser(ctx, tx, a)
	return user, err
}

// maxName bounds what a platform may call somebody, in characters.
const maxName = 100

// LearnName gives a person who is known by an address alone the name that their
// platform calls them by. A name that somebody has already stays: platforms let
// people change theirs at will.
func LearnName(ctx context.Context, q db.Queryer, a Address, name string) error {
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	if name = strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), ""); strings.TrimSpace(name) == "" {
		return nil
	}
	_, err := q.Exec(ctx, `
		UPDATE users u
		SET name = $4
		FROM user_identities i
		WHERE i.channel = $1
		  AND i.channel_user_id = $2
		  AND u.id = i.user_id
		  AND u.name = $3`, a.Channel, a.Identity, a.String(), name)
	if err != nil {
		return fmt.Errorf("learn name: %w", err)
	}
	return nil
}

// GetUser reads a user; a merged one is given as the user that lives on.
func GetUser(ctx context.Context, q db.Queryer, id string) (User, error) {
	rows, err := q.Query(ctx, `
		SELECT live.id, live.name, live.created_at
		FROM users u
		JOIN users live ON live.id = COALESCE(u.merged_into, u.id)
		WHERE u.id = $1`, id)
	if err != nil {
		return User{}, fmt.Errorf("read user: %w", err)
	}
	user, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[User])
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, fault.NotFoundf("no user %q", id)
	}
	return user, err
}

// Same tells whether two ids of requesters mean one: they are equal, or users
// who were merged. An agent that asks for itself is nobody else.
func Same(ctx context.Context, q db.Queryer, a, b string) (same bool, err error) {
	if a == b {
		return true, nil
	}
	err = q.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT 1
		    FROM users x
		    JOIN users y ON COALESCE(y.merged_into, y.id) = COALESCE(x.merged_into, x.id)
		    WHERE x.id = $1
		      AND y.id = $2
		)`, a, b).Scan(&same)
	if err != nil {
		return false, fmt.Errorf("compare users: %w", err)
	}
	return same, nil
}

// UserName gives a person's name for cards; unknown ids name themselves.
func UserName(ctx context.Context, q db.Queryer, id string) (string, error) {
	var name string
	err := q.QueryRow(ctx, `SELECT name FROM users WHERE id = $1`, id).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return id, nil
	}
	return name, err
}

// RoleOf is a user's role with an agent, empty for none. An id from before a
// merge stands for the user who lives on.
func RoleOf(ctx context.Context, q db.Queryer, agentID, userID string) (policy.Role, error) {
	var role policy.Role
	err := q.QueryRow(ctx, `
		SELECT m.role
		FROM agent_members m
		WHERE m.agent_id = $1
		  AND m.user_id IN (`+personOf("$2")+`)
		ORDER BY `+rank("m.role")+`
		LIMIT 1`, agentID, userID).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return role, err
}

// Join gives a user a role with an agent; a higher role that the user has
// already is kept. Somebody whom the owners of another agent have put together is
// Forbidden, with code claimed_person.
func Join(ctx context.Context, tx pgx.Tx, agentID, userID string, role policy.Role, actor string) error {
	if err := notClaimed(ctx, tx, agentID, userID); err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO agent_members AS m (agent_id, user_id, role)
		VALUES ($1, $2, $3)
		ON CONFLICT (agent_id, user_id) DO UPDATE
		SET role = EXCLUDED.role
		WHERE `+rank("EXCLUDED.role")+` < `+rank("m.role"), agentID, userID, role)
	if err != nil {
		return fmt.Errorf("join agent: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "member_joined", AgentID: agentID, Actor: actor,
		Data: map[string]any{"userId": userID, "role": role},
	})
}

// Owner is one address at which one owner of an agent can be written to.
type Owner struct {
	UserID string
	Name   string
	Address
}

// Owners lists every address of every owner of an agent.
func Owners(ctx context.Context, q db.Queryer, agentID string) ([]Owner, error) {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT live.id, live.name, i.channel, i.channel_user_id
		FROM agent_members m
		JOIN users u ON u.id = m.user_id
		JOIN users live ON live.id = COALESCE(u.merged_into, u.id)
		JOIN users every ON COALESCE(every.merged_into, every.id) = live.id
		JOIN user_identities i ON i.user_id = every.id
		WHERE m.agent_id = $1
		  AND m.role = 'owner'
		ORDER BY live.id, i.channel, i.channel_user_id`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (o Owner, err error) {
		err = row.Scan(&o.UserID, &o.Name, &o.Channel, &o.Identity)
		return o, err
	})
}

// Addresses lists where one user can be written to, by an id of before or after
// a merge.
func Addresses(ctx context.Context, q db.Queryer, userID string) ([]Address, error) {
	rows, err := q.Query(ctx, `
		SELECT i.channel, i.channel_user_id
		FROM user_identities i
		WHERE i.user_id IN (`+personOf("$1")+`)
		ORDER BY i.channel, i.channel_user_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Address])
}

// CheckRole refuses a word that is no role.
func CheckRole(word string) (policy.Role, error) {
	switch role := policy.Role(word); role {
	case policy.Owner, policy.User, policy.Guest:
		return role, nil
	}
	return "", fault.Invalidf("role %q: want owner, user or guest", word)
}
