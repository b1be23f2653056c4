-- +goose Up

-- asked: how many asks share the card of a question, its own included; 1 on a
-- duplicate, which names its question in duplicate_of and runs as that one alone.
-- undelivered_at: since when nobody who may answer could be reached.
-- try_differently: a rejection that invites another proposal.
ALTER TABLE approval_requests
    ADD COLUMN asked           integer NOT NULL DEFAULT 1 CHECK (asked > 0),
    ADD COLUMN undelivered_at  timestamptz,
    ADD COLUMN try_differently boolean NOT NULL DEFAULT false,
    ADD CHECK (duplicate_of IS NULL OR claimed_at IS NULL AND asked = 1),
    ADD CHECK (NOT try_differently OR status = 'rejected');
CREATE INDEX approval_requests_duplicates ON approval_requests (duplicate_of) WHERE duplicate_of IS NOT NULL;
-- What one requester has open, for the caps.
CREATE INDEX approval_requests_asked ON approval_requests (agent_id, requester_id) WHERE status = 'pending';

-- +goose Down
DROP INDEX approval_requests_asked;
DROP INDEX approval_requests_duplicates;
ALTER TABLE approval_requests
    DROP COLUMN asked,
    DROP COLUMN undelivered_at,
    DROP COLUMN try_differently;
