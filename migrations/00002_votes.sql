-- +goose Up

-- approval_votes: who approved a request; the rule's quorum of them moves it (approvals).
-- A rejection is no vote: it ends the request.
CREATE TABLE approval_votes (
    request_id text NOT NULL REFERENCES approval_requests (id) ON DELETE CASCADE,
    approver   text NOT NULL, -- a user, or 'admin'
    name       text NOT NULL,
    via        text NOT NULL,
    resolution text NOT NULL CHECK (resolution IN ('single', 'once', 'persistent')),
    extent     text CHECK (extent IN ('tool', 'arguments')),
    reason     text,
    at         timestamptz NOT NULL,
    PRIMARY KEY (request_id, approver),
    CHECK ((extent IS NOT NULL) = (resolution = 'persistent'))
);
INSERT INTO approval_votes (request_id, approver, name, via, resolution, extent, reason, at)
SELECT id, resolved_by, COALESCE(resolved_name, ''), COALESCE(resolved_via, ''), resolution,
       CASE WHEN resolution = 'persistent' THEN COALESCE(extent, 'tool') END, reason, resolved_at
FROM approval_requests
WHERE status = 'approved'
  AND resolved_by IS NOT NULL;

-- escalated_at: since when the rule's further people may decide. reminders and
-- reminded count what was sent, so that a job that runs again sends nothing twice.
ALTER TABLE approval_requests
    ADD COLUMN escalated_at timestamptz,
    ADD COLUMN reminders    integer NOT NULL DEFAULT 0;
ALTER TABLE card_deliveries ADD COLUMN reminded integer NOT NULL DEFAULT 0;

-- approval_stands tells whether a person may decide a request now, the one rule
-- for taps, votes, cards and claims: a member of the agent whom each of the
-- rule's panels names; for a request of their own, an owner where one is enough.
-- Ids from before a merge stand for the user who lives on. Package approvals
-- fills settings; the operator is not asked about here.
-- +goose StatementBegin
CREATE FUNCTION approval_stands(person text, agent text, requester text, settings jsonb, escalated boolean)
RETURNS boolean LANGUAGE sql STABLE SET jit = off AS $$
    SELECT EXISTS (
        SELECT 1
        FROM (
            SELECT COALESCE(u.merged_into, u.id) AS id, m.role
            FROM agent_members m
            JOIN users u ON u.id = m.user_id
            WHERE m.agent_id = agent
              AND COALESCE(u.merged_into, u.id) = (SELECT COALESCE(merged_into, id) FROM users WHERE id = person)
            ORDER BY array_position(ARRAY['owner', 'user', 'guest'], m.role)
            LIMIT 1
        ) who
        WHERE (
            who.id <> COALESCE((SELECT merged_into FROM users WHERE id = requester), requester)
            OR who.role = 'owner' AND COALESCE((settings ->> 'quorum')::integer, 1) < 2
        )
          AND NOT EXISTS (
            SELECT 1
            FROM jsonb_array_elements(COALESCE(settings -> 'panels', '[{"approvers": [{"type": "role", "value": "owner"}]}]')) panel
            WHERE NOT EXISTS (
                SELECT 1
                FROM jsonb_array_elements(
                    (panel -> 'approvers') || CASE WHEN escalated THEN COALESCE(panel -> 'escalateTo', '[]') ELSE '[]' END) named
                WHERE named ->> 'type' = 'any'
                   OR named ->> 'type' = 'role' AND named ->> 'value' = who.role
                   OR named ->> 'type' = 'user'
                      AND COALESCE((SELECT merged_into FROM users WHERE id = named ->> 'value'), named ->> 'value') = who.id
                   OR named ->> 'type' = 'circle' AND EXISTS (
                        SELECT 1
                        FROM circle_members c
                        JOIN users cu ON cu.id = c.user_id
                        WHERE c.agent_id = agent
                          AND c.circle = named ->> 'value'
                          AND COALESCE(cu.merged_into, cu.id) = who.id)
            )
        )
    )
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION approval_stands;
ALTER TABLE card_deliveries DROP COLUMN reminded;
ALTER TABLE approval_requests DROP COLUMN escalated_at, DROP COLUMN reminders;
DROP TABLE approval_votes;
