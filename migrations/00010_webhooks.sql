-- +goose Up

-- webhooks: addresses that are told of an agent's events (internal/webhook).
CREATE TABLE webhooks (
    id           text PRIMARY KEY,
    agent_id     text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    url          text NOT NULL,
    events       text[] NOT NULL,
    secret       bytea NOT NULL,
    cursor       bigint NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    disabled_at  timestamptz,
    delivered_at timestamptz,
    failed_at    timestamptz,
    last_error   text NOT NULL DEFAULT ''
);
CREATE INDEX webhooks_agent ON webhooks (agent_id);

-- +goose Down
DROP TABLE webhooks;
