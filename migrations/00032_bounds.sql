-- +goose Up

-- What a request shows of its arguments is made from the bytes that run: they are
-- stored once, and as they came, since packing them costs more than anything else
-- about a long question.
ALTER TABLE approval_requests DROP COLUMN args;
ALTER TABLE approval_requests ALTER COLUMN args_bytes SET STORAGE EXTERNAL;
-- How many questions a requester has put within a minute.
CREATE INDEX approval_requests_requester ON approval_requests (agent_id, requester_id, created_at);

-- +goose Down
DROP INDEX approval_requests_requester;
ALTER TABLE approval_requests ALTER COLUMN args_bytes SET STORAGE EXTENDED;
ALTER TABLE approval_requests ADD COLUMN args json NOT NULL DEFAULT '{}';
ALTER TABLE approval_requests ALTER COLUMN args DROP DEFAULT;
