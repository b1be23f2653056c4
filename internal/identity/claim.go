package identity

import (
	"context"
	"errors"
	"fmt"

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

// notClaimed refuses a role with an agent to somebody of whom the owners of
// another one have said which accounts are theirs. Whoever has one of those would
// get the role with them: an owner could make an account their own before its
// person is invited elsewhere.
func notClaimed(ctx context.Context, tx pgx.Tx, agentID, userID string) error {
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
