-- +goose Up

-- hold keeps an open request for one reviewer who is writing a reason (approvals);
-- on a closed one it means nothing.
ALTER TABLE approval_requests ADD COLUMN hold jsonb;
CREATE INDEX approval_requests_held ON approval_requests ((hold ->> 'until'))
    WHERE status = 'pending' AND hold IS NOT NULL;

-- reason_prompts: messages that ask one person for a reason; a reply to one is
-- the answer (bot).
CREATE TABLE reason_prompts (
    channel     text NOT NULL,
    chat        text NOT NULL,
    message     text NOT NULL,
    delivery_id text NOT NULL REFERENCES card_deliveries (id) ON DELETE CASCADE,
    action      smallint NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel, chat, message)
);
CREATE INDEX reason_prompts_delivery ON reason_prompts (delivery_id);

-- closed_routes: people whom a platform lets us not write to (bot).
CREATE TABLE closed_routes (
    channel   text NOT NULL,
    identity  text NOT NULL,
    reason    text NOT NULL,
    closed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel, identity)
);

-- +goose Down
DROP TABLE closed_routes;
DROP TABLE reason_prompts;
DROP INDEX approval_requests_held;
ALTER TABLE approval_requests DROP COLUMN hold;
