package identity

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/bcrypt"

	"holm/internal/audit"
	"holm/internal/fault"
)

// Keys of Steerholm go on working: steer_sk_ and 32 letters or digits. They
// have no prefix of their own; their first characters find them.
var importedText = regexp.MustCompile(`^steer_sk_[A-Za-z0-9]{32}$`)

const (
	// importedPrefix is the length of what finds an imported key.
	importedPrefix = len("steer_sk_") + 6
	// maxImportedCost bounds what one guess may cost: 2^14 is about a second.
	maxImportedCost = 14
)

var importedKey = regexp.MustCompile(`^steer_sk_[A-Za-z0-9]{6}$`)

// ImportKey stores the bcrypt hash of a key that Steerholm made. Publish
// KeysChanged after the commit. A prefix that another key has is a Conflict:
// that agent needs a new key.
func ImportKey(ctx context.Context, tx pgx.Tx, agentID, prefix, hash, actor string) error {
	cost, err := bcrypt.Cost([]byte(hash))
	if err != nil || cost > maxImportedCost || !importedKey.MatchString(prefix) {
		return fault.Invalidf("the key cannot be imported: want steer_sk_ with six characters, and a bcrypt hash of a cost up to %d", maxImportedCost)
	}
	if _, err := GetAgent(ctx, tx, agentID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO agent_keys (prefix, agent_id, hash)
		VALUES ($1, $2, $3)`, prefix, agentID, hash)
	if unique(err) {
		return fault.New(fault.Conflict, "exists", "there is a key that begins with %s already", prefix)
	}
	if err != nil {
		return fmt.Errorf("import key: %w", err)
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "key_imported", AgentID: agentID, Actor: actor, Data: map[string]any{"prefix": prefix},
	})
}
