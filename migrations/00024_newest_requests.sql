-- +goose Up

-- An agent's requests are listed from the newest back; those of one status were
-- collected and sorted, all that there ever were.
CREATE INDEX approval_requests_newest ON approval_requests (agent_id, id);
DROP INDEX approval_requests_status;

-- +goose Down
CREATE INDEX approval_requests_status ON approval_requests (agent_id, status);
DROP INDEX approval_requests_newest;
