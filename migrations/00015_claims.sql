-- +goose Up

-- claimed_by: the agent whose owners said so of their people, null where the people
-- themselves or the operator did. Such a word counts for that agent alone
-- (internal/identity).
ALTER TABLE user_identities ADD COLUMN claimed_by text;
ALTER TABLE user_merges ADD COLUMN claimed_by text;

-- +goose Down
ALTER TABLE user_merges DROP COLUMN claimed_by;
ALTER TABLE user_identities DROP COLUMN claimed_by;
