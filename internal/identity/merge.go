package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
)

// UndoTTL is how long the people concerned may undo a merge themselves.
const UndoTTL = 24 * time.Hour

// Merge says that one user, the source, is the same person as another, who
// lives on. Nothing of the source is moved: what names either of them counts
// for both while the merge stands, and undoing it restores each as it was.
type Merge struct {
	Number   int64      `json:"number"`
	SourceID string     `json:"sourceId"`
	TargetID string     `json:"targetId"`
	MergedBy string     `json:"mergedBy"`
	MergedAt time.Time  `json:"mergedAt"`
	UndoneAt *time.Time `json:"undoneAt,omitempty"`
	// ReadAt is when the row was read, by the database's clock.
	ReadAt time.Time `json:"-"`
	// Agents are those where policy or people are not what they were.
	Agents []string `json:"-" db:"-"`
}

const mergeColumns = `number, source_id, target_id, merged_by, merged_at, undone_at, clock_timestamp()`

// mergeLock serialises merges: they are rare, and two at once could make a
// circle.
const mergeLock = `SELECT pg_advisory_xact_lock(hashtextextended('user merges', 0))`

// MergeUsers makes source and target one person. Roles are neither made nor
// changed: with each agent the person has the highest that one of them had.
// Users who are one person already, or of whom one lives on as somebody else,
// are a Conflict. Publish KeysChanged and tell the rules of Merge.Agents after
// the commit.
func MergeUsers(ctx context.Context, tx pgx.Tx, source, target, actor string) (Merge, error) {
	if _, err := tx.Exec(ctx, mergeLock); err != nil {
		return Merge{}, fmt.Errorf("take turns for merges: %w", err)
	}
	people := map[string]User{}
	for _, id := range []string{source, target} {
		live, err := GetUser(ctx, tx, id)
		if err != nil {
			return Merge{}, err
		}
		people[id] = live
	}
	if people[source].ID == people[target].ID {
		return Merge{}, fault.New(fault.Conflict, "same_person", "these are one person already")
	}
	for id, live := range people {
		if live.ID != id {
			return Merge{}, fault.New(fault.Conflict, "merged_already", "user %q lives on as %q; name that one", id, live.ID)
		}
	}
	m, err := collectMerge(tx.Query(ctx, `
		INSERT INTO user_merges (source_id, target_id, merged_by)
		VALUES ($1, $2, $3)
		RETURNING `+mergeColumns, source, target, actor))
	if err != nil {
		return Merge{}, fmt.Errorf("store merge: %w", err)
	}
	if _, err := tx.Exec(ctx, `
		UPDATE users
		SET merged_into = $2
		WHERE COALESCE(merged_into, id) = $1`, source, target); err != nil {
		return Merge{}, fmt.Errorf("merge users: %w", err)
	}
	return mergeChanged(ctx, tx, m, "users_merged", actor)
}

// UndoMerge takes a merge back: the source, with those who had been merged into
// it, is a person of its own again. One that was undone before is a Conflict.
// What was asked and granted while the merge stood stays with the target.
// Publish KeysChanged and tell the rules of Merge.Agents after the commit.
func UndoMerge(ctx context.Context, tx pgx.Tx, number int64, actor string) (Merge, error) {
	if _, err := tx.Exec(ctx, mergeLock); err != nil {
		return Merge{}, fmt.Errorf("take turns for merges: %w", err)
	}
	if _, err := GetMerge(ctx, tx, number); err != nil {
		return Merge{}, err
	}
	m, err := collectMerge(tx.Query(ctx, `
		UPDATE user_merges
		SET undone_at = now(),
		    undone_by = $2
		WHERE number = $1
		  AND undone_at IS NULL
		RETURNING `+mergeColumns, number, actor))
	if errors.Is(err, pgx.ErrNoRows) {
		return Merge{}, fault.New(fault.Conflict, "undone_already", "merge %d was undone already", number)
	}
	if err != nil {
		return Merge{}, fmt.Errorf("undo merge: %w", err)
	}
	if _, err := tx.Exec(ctx, `
		WITH RECURSIVE part AS (
		    SELECT $1::text AS id
		    UNION
		    SELECT m.source_id
		    FROM user_merges m
		    JOIN part ON part.id = m.target_id
		    WHERE m.undone_at IS NULL
		)
		UPDATE users
		SET merged_into = NULLIF($1, users.id)
		FROM part
		WHERE users.id = part.id`, m.SourceID); err != nil {
		return Merge{}, fmt.Errorf("part users: %w", err)
	}
	return mergeChanged(ctx, tx, m, "users_parted", actor)
}

// mergeChanged has every process read the policy of the agents concerned anew,
// and writes the record for each.
func mergeChanged(ctx context.Context, tx pgx.Tx, m Merge, kind, actor string) (Merge, error) {
	rows, err := tx.Query(ctx, `
		WITH concerned AS (
		    SELECT id
		    FROM users
		    WHERE COALESCE(merged_into, id) IN (
		        SELECT COALESCE(merged_into, id) FROM users WHERE id IN ($1, $2)
		    )
		)
		UPDATE agents a
		SET policy_version = policy_version + 1
		WHERE EXISTS (SELECT 1 FROM agent_members m JOIN concerned c ON c.id = m.user_id WHERE m.agent_id = a.id)
		   OR EXISTS (SELECT 1 FROM circle_members m JOIN concerned c ON c.id = m.user_id WHERE m.agent_id = a.id)
		   OR EXISTS (
		       SELECT 1
		       FROM agent_policies p, concerned c
		       WHERE p.agent_id = a.id
		         AND p.grants @> jsonb_build_array(jsonb_build_object('type', 'user', 'value', c.id))
		   )
		RETURNING a.id`, m.SourceID, m.TargetID)
	if err != nil {
		return m, fmt.Errorf("count policy versions: %w", err)
	}
	if m.Agents, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return m, fmt.Errorf("count policy versions: %w", err)
	}
	agents := m.Agents
	if len(agents) == 0 {
		agents = []string{""}
	}
	for _, agentID := range agents {
		err := audit.Write(ctx, tx, audit.Record{Kind: kind, AgentID: agentID, Actor: actor, Data: m})
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// GetMerge reads one merge.
func GetMerge(ctx context.Context, q db.Queryer, number int64) (Merge, error) {
	m, err := collectMerge(q.Query(ctx, `SELECT `+mergeColumns+` FROM user_merges WHERE number = $1`, number))
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fault.NotFoundf("no merge %d", number)
	}
	return m, err
}

// Merges lists the merges that made a person, those that stand, the newest
// first.
func Merges(ctx context.Context, q db.Queryer, userID string) ([]Merge, error) {
	rows, err := q.Query(ctx, `
		SELECT `+mergeColumns+`
		FROM user_merges
		WHERE undone_at IS NULL
		  AND source_id IN (`+personOf("$1")+`)
		ORDER BY number DESC`, userID)
	if err != nil {
		return nil, fmt.Errorf("list merges: %w", err)
	}
	return pgx.CollectRows(rows, rowToMerge)
}

func collectMerge(rows pgx.Rows, err error) (Merge, error) {
	if err != nil {
		return Merge{}, err
	}
	return pgx.CollectExactlyOneRow(rows, rowToMerge)
}

func rowToMerge(row pgx.CollectableRow) (m Merge, err error) {
	err = row.Scan(&m.Number, &m.SourceID, &m.TargetID, &m.MergedBy, &m.MergedAt, &m.UndoneAt, &m.ReadAt)
	return m, err
}

// personOf is the query for the ids of the person whom a parameter names by any
// of them.
func personOf(param string) string {
	return `
	SELECT person.id
	FROM users person
	WHERE COALESCE(person.merged_into, person.id) = COALESCE((SELECT merged_into FROM users WHERE id = ` + param + `), ` + param + `)`
}

// PersonIDs gives every id of the person whom id names, or id alone when it
// names no user: what was asked or granted under any of them is theirs.
func PersonIDs(ctx context.Context, q db.Queryer, id string) ([]string, error) {
	if noUser(id) {
		return []string{id}, nil
	}
	rows, err := q.Query(ctx, personIDs, id)
	if err != nil {
		return nil, fmt.Errorf("read ids of a person: %w", err)
	}
	return collectIDs(rows, id)
}

// QueuePersonIDs is PersonIDs as a statement of the batch b.
func QueuePersonIDs(b *pgx.Batch, id string, ids *[]string) {
	if noUser(id) {
		*ids = []string{id}
		return
	}
	b.Queue(personIDs, id).Query(func(rows pgx.Rows) (err error) {
		*ids, err = collectIDs(rows, id)
		return err
	})
}

var personIDs = personOf("$1") + ` ORDER BY person.id`

// noUser tells whether an id can be none of a user.
func noUser(id string) bool { return id == "" || strings.HasPrefix(id, AgentRequester("")) }

func collectIDs(rows pgx.Rows, id string) ([]string, error) {
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read ids of a person: %w", err)
	}
	if len(ids) == 0 {
		ids = []string{id}
	}
	return ids, nil
}
