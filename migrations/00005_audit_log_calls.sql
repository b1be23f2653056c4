-- +goose Up

-- What holm log reads (internal/audit): the records that tell of calls.
CREATE INDEX audit_log_calls ON audit_log (seq)
    WHERE kind IN ('call_decided', 'call_completed', 'call_finished', 'approval_requested',
                   'approval_rejected', 'approval_expired', 'approval_cancelled');
CREATE INDEX audit_log_agent_calls ON audit_log (agent_id, seq)
    WHERE kind IN ('call_decided', 'call_completed', 'call_finished', 'approval_requested',
                   'approval_rejected', 'approval_expired', 'approval_cancelled');

-- +goose Down
DROP INDEX audit_log_agent_calls;
DROP INDEX audit_log_calls;
