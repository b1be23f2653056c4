-- +goose Up

-- A persistent approval is a grant like the others: policy_id names the row of agent_policies
-- that it opened. It ends with that row and not with time, and no claim uses it up.
ALTER TABLE approval_grants
    ADD COLUMN policy_id  text,
    ADD COLUMN revoked_by text,
    ALTER COLUMN valid_until DROP NOT NULL,
    ADD CONSTRAINT approval_grants_end CHECK ((policy_id IS NULL) = (valid_until IS NOT NULL));
CREATE INDEX approval_grants_policy ON approval_grants (policy_id) WHERE policy_id IS NOT NULL;

-- +goose Down
DELETE FROM approval_grants WHERE policy_id IS NOT NULL;
ALTER TABLE approval_grants
    DROP COLUMN policy_id,
    DROP COLUMN revoked_by,
    ALTER COLUMN valid_until SET NOT NULL;
