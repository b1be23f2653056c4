package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/fault"
	"holm/internal/secret"
)

// OwnChannelChange is what becomes of a channel that was added.
type OwnChannelChange struct {
	Namespace string
	// Mode is nil where it stays.
	Mode *string
	// Secrets take the place of those with their names; the others stay, and an
	// empty one is taken away.
	Secrets map[string]string
}

// RotateOwnChannel gives one of Holm's own channels that was added other secrets.
// check refuses what could not work; it is called with what would be stored.
func RotateOwnChannel(ctx context.Context, tx pgx.Tx, k *secret.Keeper, in OwnChannelChange, check func(OwnChannel) error, actor string) error {
	before := OwnChannel{Namespace: in.Namespace}
	var sealed []byte
	err := tx.QueryRow(ctx, `
		SELECT agent_id, mode, secrets
		FROM channels
		WHERE namespace = $1
		FOR UPDATE`, in.Namespace).Scan(&before.AgentID, &before.Mode, &sealed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.NotFoundf("no channel %q", in.Namespace)
	case err != nil:
		return fmt.Errorf("read channel: %w", err)
	case sealed == nil:
		return fault.Invalidf("channel %q runs outside: Holm makes its token, so it takes no secrets", in.Namespace)
	}
	plain, err := k.Open(before.owner(), sealed)
	if err == nil {
		err = json.Unmarshal(plain, &before.Secrets)
	}
	if err != nil {
		return fmt.Errorf("read channel: %w", err)
	}
	after := in.apply(before)
	if err := check(after); err != nil {
		return err
	}
	if plain, err = json.Marshal(after.Secrets); err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE channels
		SET mode = $2,
		    secrets = $3
		WHERE namespace = $1`, in.Namespace, after.Mode, k.Seal(after.owner(), plain))
	if err != nil {
		return fmt.Errorf("rotate channel: %w", err)
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: "channel_rotated", AgentID: after.AgentID, Actor: actor, Data: map[string]any{
			"namespace": in.Namespace, "rotated": slices.Sorted(maps.Keys(in.Secrets)), "before": before.wire(), "after": after.wire(),
		},
	})
}

func (in OwnChannelChange) apply(c OwnChannel) OwnChannel {
	secrets := maps.Clone(c.Secrets)
	if secrets == nil {
		secrets = map[string]string{}
	}
	maps.Copy(secrets, in.Secrets)
	maps.DeleteFunc(secrets, func(_, value string) bool { return value == "" })
	c.Secrets = secrets
	if in.Mode != nil {
		c.Mode = *in.Mode
	}
	return c
}

// RotateChannel gives a registered adapter another token, and with it another
// signing secret. The earlier ones end at once.
func RotateChannel(ctx context.Context, tx pgx.Tx, namespace, actor string) (token string, err error) {
	token = "holm_ch_" + secret.Token()
	var agentID string
	var own bool
	err = tx.QueryRow(ctx, `
		UPDATE channels
		SET token_hash = CASE WHEN secrets IS NULL THEN $2::bytea END
		WHERE namespace = $1
		RETURNING agent_id, secrets IS NOT NULL`, namespace, secret.Hash(token)).Scan(&agentID, &own)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", fault.NotFoundf("no channel %q", namespace)
	case err != nil:
		return "", fmt.Errorf("rotate channel: %w", err)
	case own:
		return "", fault.Invalidf("channel %q is one of Holm's own: say which of its secrets are new", namespace)
	}
	return token, audit.Write(ctx, tx, audit.Record{
		Kind: "channel_rotated", AgentID: agentID, Actor: actor, Data: map[string]any{"namespace": namespace},
	})
}
