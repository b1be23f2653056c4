-- +goose Up

-- ended_at: since when nobody acts in the session for its person (internal/session).
ALTER TABLE sessions ADD COLUMN ended_at timestamptz;

-- A conversation in a chat ends when its person begins a fresh one there.
UPDATE sessions s
SET ended_at = later.created_at
FROM chats c
JOIN chats later ON later.agent_id = c.agent_id
    AND later.channel = c.channel
    AND later.identity = c.identity
    AND later.chat = c.chat
    AND later.created_at > c.created_at
JOIN sessions fresh ON fresh.id = later.session_id
WHERE c.session_id = s.id
  AND fresh.requester_id = s.requester_id;

-- by_key: the prefix of the agent's own key with which a program asked on behalf of
-- the requester; empty where the requester asked (approvals).
ALTER TABLE approval_requests ADD COLUMN by_key text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE approval_requests DROP COLUMN by_key;
ALTER TABLE sessions DROP COLUMN ended_at;
