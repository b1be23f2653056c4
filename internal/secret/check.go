package secret

import (
	"context"
	"fmt"

	"holm/internal/db"
)

// canaryOwner names the one value that is sealed to be recognised.
const canaryOwner = "installation"

// Check makes sure that k is the key of this installation: the first process on
// a database leaves a sealed value, and every later one has to open it. A
// replica with another key would serve without its servers and sign buttons
// that nobody else knows.
func (k *Keeper) Check(ctx context.Context, q db.Queryer) error {
	_, err := q.Exec(ctx, `
		INSERT INTO installation (key_check)
		VALUES ($1)
		ON CONFLICT (single) DO NOTHING`, k.Seal(canaryOwner, []byte("holm")))
	if err != nil {
		return fmt.Errorf("store the key's check: %w", err)
	}
	var sealed []byte
	if err := q.QueryRow(ctx, `SELECT key_check FROM installation`).Scan(&sealed); err != nil {
		return fmt.Errorf("read the key's check: %w", err)
	}
	_, err = k.Open(canaryOwner, sealed)
	return err
}
