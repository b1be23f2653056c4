-- +goose Up

-- Holm's own channels may be added while it runs (internal/identity): a row with
-- secrets, which are sealed, in place of an adapter's url and token. mode is how
-- the platform's events arrive. Those that settings name still have no row.
ALTER TABLE channels
    ALTER COLUMN token_hash DROP NOT NULL,
    ADD COLUMN secrets bytea,
    ADD COLUMN mode    text NOT NULL DEFAULT '',
    ADD CONSTRAINT channels_kind CHECK ((secrets IS NULL) = (token_hash IS NOT NULL) AND (secrets IS NULL) = (url <> ''));

-- +goose Down
DELETE FROM channels WHERE secrets IS NOT NULL;
ALTER TABLE channels
    DROP CONSTRAINT channels_kind,
    DROP COLUMN mode,
    DROP COLUMN secrets,
    ALTER COLUMN token_hash SET NOT NULL;
