package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
)

// ClaimMerge notes that a merge was made on the word of an agent's owners, not of
// the people or the operator.
func ClaimMerge(ctx context.Context, tx pgx.Tx, m Merge, agentID string) error {
	if _, err := tx.Exec(ctx, `UPDATE user_merges SET claimed_by = $2 WHERE number = $1`, m.Number, agentID); err != nil {
		return fmt.Errorf("note whose word a merge is: %w", err)
	}
	return nil
}

// SpeakFor makes sure that the owners of an agent may say who some people are: they
// have a role with it, and with no other agent, where whoever is made one with them
// could act as them. It holds until the transaction ends; a role with another agent
// that comes meanwhile waits for that, and is then judged by what was said.
func SpeakFor(ctx context.Context, tx pgx.Tx, agentID string, userIDs ...string) error {
	if _, err := tx.Exec(ctx, mergeLock); err != nil {
		return fmt.Errorf("take turns for merges: %w", err)
	}
	for _, id := range userIDs {
		if _, err := tx.Exec(ctx, personOf("$1")+` ORDER BY person.id FOR UPDATE`, id); err != nil {
			return fmt.Errorf("lock a person: %w", err)
		}
	}
	for _, id := range userIDs {
		roles, err := RolesOf(ctx, tx, id)
		if err != nil {
			return err
		}
		switch mine := slices.ContainsFunc(roles, func(r AgentRole) bool { return r.AgentID == agentID }); {
		case !mine:
			return fault.NotFoundf("agent %q has no member %q", agentID, id)
		case len(roles) > 1:
			return fault.New(fault.Forbidden, "other_agents", "user %q is with other agents too; the operator can do this", id)
		}
	}
	return nil
}

// notClaimed refuses a role with an agent to somebody of whom the owners of
// another one have said which accounts are theirs. Whoever has one of those would
// get the role with them: an owner could make an account their own before its
// person is invited elsewhere. What they are just saying is waited for.
func notClaimed(ctx context.Context, tx pgx.Tx, agentID, userID string) error {
	if _, err := tx.Exec(ctx, personOf("$1")+` ORDER BY person.id FOR KEY SHARE`, userID); err != nil {
		return fmt.Errorf("lock a person: %w", err)
	}
	var by string
	err := tx.QueryRow(ctx, `
		WITH person AS (`+personOf("$2")+`)
		SELECT claimed_by
		FROM user_identities
		WHERE user_id IN (SELECT id FROM person)
		  AND claimed_by <> $1
		UNION ALL
		SELECT claimed_by
		FROM user_merges
		WHERE source_id IN (SELECT id FROM person)
		  AND undone_at IS NULL
		  AND claimed_by <> $1
		LIMIT 1`, agentID, userID).Scan(&by)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read whose word a person is: %w", err)
	}
	return fault.New(fault.Forbidden, "claimed_person",
		"an owner of agent %q has said which accounts are this person's; before they get a role with agent %q the operator has to confirm or undo that", by, agentID)
}
