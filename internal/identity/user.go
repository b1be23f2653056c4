package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
		JOIN users u ON u.id = m.user_id
		WHERE m.agent_id = $1
		  AND COALESCE(u.merged_into, u.id) = COALESCE((SELECT merged_into FROM users WHERE id = $2), $2)
		ORDER BY array_position(ARRAY['owner', 'user', 'guest'], m.role)
		LIMIT 1`, agentID, userID).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return role, err
}

// Join gives a user a role with an agent; a higher role that the user has
// already is kept.
func Join(ctx context.Context, tx pgx.Tx, agentID, userID string, role policy.Role, actor string) error {
	tag, err := tx.Exec(ctx, `
		INSERT INTO agent_members AS m (agent_id, user_id, role)
		VALUES ($1, $2, $3)
		ON CONFLICT (agent_id, user_id) DO UPDATE
		SET role = EXCLUDED.role
		WHERE array_position(ARRAY['owner', 'user', 'guest'], EXCLUDED.role)
		    < array_position(ARRAY['owner', 'user', 'guest'], m.role)`, agentID, userID, role)
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

// SetRole changes the role of a member. Somebody who is no member is NotFound.
func SetRole(ctx context.Context, tx pgx.Tx, agentID, userID string, role policy.Role, actor string) error {
	tag, err := tx.Exec(ctx, `
		UPDATE agent_members
		SET role = $3
		WHERE agent_id = $1
		  AND user_id = $2`, agentID, userID, role)
	return memberChanged(ctx, tx, tag, err, agentID, userID, actor, map[string]any{"userId": userID, "role": role})
}

// Leave takes a member from an agent, and out of its circles. What they
// approved stands no longer; keys bound to them keep no role.
func Leave(ctx context.Context, tx pgx.Tx, agentID, userID, actor string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM circle_members WHERE agent_id = $1 AND user_id = $2`, agentID, userID); err != nil {
		return fmt.Errorf("leave circles: %w", err)
	}
	tag, err := tx.Exec(ctx, `DELETE FROM agent_members WHERE agent_id = $1 AND user_id = $2`, agentID, userID)
	return memberChanged(ctx, tx, tag, err, agentID, userID, actor, map[string]any{"userId": userID, "role": nil})
}

func memberChanged(ctx context.Context, tx pgx.Tx, tag pgconn.CommandTag, err error, agentID, userID, actor string, data map[string]any) error {
	if err != nil {
		return fmt.Errorf("change member: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.NotFoundf("agent %q has no member %q", agentID, userID)
	}
	return audit.Write(ctx, tx, audit.Record{Kind: "member_changed", AgentID: agentID, Actor: actor, Data: data})
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
		JOIN users u ON u.id = i.user_id
		WHERE COALESCE(u.merged_into, u.id) = COALESCE((SELECT merged_into FROM users WHERE id = $1), $1)
		ORDER BY i.channel, i.channel_user_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Address])
}

// Member is a user with a role.
type Member struct {
	UserID     string      `json:"userId"`
	Name       string      `json:"name"`
	Role       policy.Role `json:"role"`
	Identities []string    `json:"identities"`
}

// Members lists the people of an agent with their identities.
func Members(ctx context.Context, q db.Queryer, agentID string) ([]Member, error) {
	rows, err := q.Query(ctx, `
		SELECT u.id, u.name, m.role,
		       COALESCE(array_agg(i.channel || ':' || i.channel_user_id ORDER BY i.channel, i.channel_user_id)
		                FILTER (WHERE i.channel IS NOT NULL), '{}')
		FROM agent_members m
		JOIN users u ON u.id = m.user_id
		LEFT JOIN user_identities i ON i.user_id = u.id
		WHERE m.agent_id = $1
		GROUP BY u.id, u.name, m.role
		ORDER BY u.name, u.id`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Member])
}

// PrincipalOf is who a caller is to policy: a bare key is the agent itself, a
// bound key its user with the role the user has now.
func PrincipalOf(ctx context.Context, q db.Queryer, c Caller) (policy.Principal, error) {
	p := policy.Principal{AgentID: c.AgentID, UserID: c.UserID}
	if c.UserID == "" {
		return p, nil
	}
	var err error
	if p.Role, err = RoleOf(ctx, q, c.AgentID, c.UserID); err != nil {
		return p, fmt.Errorf("read role: %w", err)
	}
	p.Circles, err = circlesOf(ctx, q, c.AgentID, c.UserID)
	return p, err
}

// Principals are all who can call as an agent or for it: its bare key, and each
// member.
func Principals(ctx context.Context, q db.Queryer, agentID string) ([]policy.Principal, error) {
	members, err := Members(ctx, q, agentID)
	if err != nil {
		return nil, err
	}
	all := []policy.Principal{{AgentID: agentID}}
	for _, m := range members {
		p, err := PrincipalOf(ctx, q, Caller{AgentID: agentID, UserID: m.UserID})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// CheckRole refuses a word that is no role.
func CheckRole(word string) (policy.Role, error) {
	switch role := policy.Role(word); role {
	case policy.Owner, policy.User, policy.Guest:
		return role, nil
	}
	return "", fault.Invalidf("role %q: want owner, user or guest", word)
}
