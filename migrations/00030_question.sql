-- +goose Up

-- stopped: why what was approved lets no call through any more, or did not when the
-- call came for it; on a cancelled request, that the call was asked anew (approvals).
ALTER TABLE approval_requests ADD COLUMN stopped text;

-- runs: the version of the row at which each part of what runs was last changed
-- (internal/servers).
ALTER TABLE servers ADD COLUMN runs jsonb NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE servers DROP COLUMN runs;
ALTER TABLE approval_requests DROP COLUMN stopped;
