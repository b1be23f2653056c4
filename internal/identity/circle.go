package identity

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
)

// Circle is a flat label of an agent on people; a grant may name it.
type Circle struct {
	Name    string   `json:"name"`
	Members []Member `json:"members"`
}

var circleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// AddToCircle puts a member of the agent into a circle, which is made when it
// is new. Somebody who is in it already stays.
func AddToCircle(ctx context.Context, tx pgx.Tx, agentID, name, userID, actor string) error {
	if !circleName.MatchString(name) {
		return fault.Invalidf("circle %q: want a letter, then letters, digits, - or _, at most 64", name)
	}
	role, err := RoleOf(ctx, tx, agentID, userID)
	if err != nil {
		return fmt.Errorf("read role: %w", err)
	}
	if role == "" {
		return fault.NotFoundf("agent %q has no member %q", agentID, userID)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO circle_members (agent_id, circle, user_id)
		VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, agentID, name, userID)
	if err != nil {
		return fmt.Errorf("add to circle: %w", err)
	}
	return circleChanged(ctx, tx, agentID, "circle_joined", name, userID, actor)
}

// RemoveFromCircle takes a user out of a circle; the last one takes the circle
// along. A user who is not in it is NotFound.
func RemoveFromCircle(ctx context.Context, tx pgx.Tx, agentID, name, userID, actor string) error {
	tag, err := tx.Exec(ctx, `
		DELETE FROM circle_members
		WHERE agent_id = $1
		  AND circle = $2
		  AND user_id IN (`+personOf("$3")+`)`, agentID, name, userID)
	if err != nil {
		return fmt.Errorf("remove from circle: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.NotFoundf("user %q is not in circle %q of agent %q", userID, name, agentID)
	}
	return circleChanged(ctx, tx, agentID, "circle_left", name, userID, actor)
}

// DeleteCircle empties a circle. What rows grant to it is package approvals' to end.
func DeleteCircle(ctx context.Context, tx pgx.Tx, agentID, name, actor string) error {
	tag, err := tx.Exec(ctx, `
		DELETE FROM circle_members
		WHERE agent_id = $1
		  AND circle = $2`, agentID, name)
	if err != nil {
		return fmt.Errorf("delete circle: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.NotFoundf("agent %q has no circle %q", agentID, name)
	}
	return circleChanged(ctx, tx, agentID, "circle_deleted", name, "", actor)
}

// InCircle counts the people of a circle.
func InCircle(ctx context.Context, q db.Queryer, agentID, name string) (n int, err error) {
	err = q.QueryRow(ctx, `
		SELECT count(DISTINCT COALESCE(u.merged_into, u.id))
		FROM circle_members c
		JOIN users u ON u.id = c.user_id
		WHERE c.agent_id = $1
		  AND c.circle = $2`, agentID, name).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count people of a circle: %w", err)
	}
	return n, nil
}

func circleChanged(ctx context.Context, tx pgx.Tx, agentID, kind, name, userID, actor string) error {
	return audit.Write(ctx, tx, audit.Record{
		Kind: kind, AgentID: agentID, Actor: actor, Data: map[string]any{"circle": name, "userId": userID},
	})
}

// Circles lists an agent's circles with their members, by name.
func Circles(ctx context.Context, q db.Queryer, agentID string) ([]Circle, error) {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT c.circle, live.id, live.name, COALESCE((
		    SELECT m.role
		    FROM agent_members m
		    JOIN users member ON member.id = m.user_id
		    WHERE m.agent_id = c.agent_id
		      AND COALESCE(member.merged_into, member.id) = live.id
		    ORDER BY `+rank("m.role")+`
		    LIMIT 1
		), '')
		FROM circle_members c
		JOIN users u ON u.id = c.user_id
		JOIN users live ON live.id = COALESCE(u.merged_into, u.id)
		WHERE c.agent_id = $1
		ORDER BY c.circle, live.name, live.id`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list circles: %w", err)
	}
	circles := []Circle{}
	var name string
	var member Member
	_, err = pgx.ForEachRow(rows, []any{&name, &member.UserID, &member.Name, &member.Role}, func() error {
		if n := len(circles); n == 0 || circles[n-1].Name != name {
			circles = append(circles, Circle{Name: name, Members: []Member{}})
		}
		last := &circles[len(circles)-1]
		last.Members = append(last.Members, member)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list circles: %w", err)
	}
	return circles, nil
}
