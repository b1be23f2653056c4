-- +goose Up

-- lists: how many requests one message of an adapter lists at most; 0 for one that
-- shows each by itself.
ALTER TABLE channels ADD COLUMN lists integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE channels DROP COLUMN lists;
