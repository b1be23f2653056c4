-- +goose Up

-- chats: the sessions of people who write to the bot (bot). A person's texts in
-- one chat belong to the newest of its sessions; chat is empty for the direct
-- one. message is the newest text in a group, which an answer replies to.
CREATE TABLE chats (
    session_id text PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    channel    text NOT NULL,
    identity   text NOT NULL,
    chat       text NOT NULL DEFAULT '',
    message    text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX chats_newest ON chats (agent_id, channel, identity, chat, created_at DESC);

-- chat_calls: calls that people typed (bot), by the stored event they were typed
-- in. state is queued, waiting for the answer to request_id, sent by the job
-- sent_by, or done.
CREATE TABLE chat_calls (
    channel    text NOT NULL,
    event_id   text NOT NULL,
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    user_id    text NOT NULL REFERENCES users (id),
    identity   text NOT NULL,
    tool       text NOT NULL,
    args       bytea NOT NULL,
    state      text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'waiting', 'sent', 'done')),
    request_id text REFERENCES approval_requests (id) ON DELETE CASCADE,
    sent_by    bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    done_at    timestamptz,
    PRIMARY KEY (channel, event_id),
    CHECK ((state = 'done') = (done_at IS NOT NULL))
);
CREATE INDEX chat_calls_request ON chat_calls (request_id);

-- agent_runtimes: when a program of an agent was last heard of, one that answers
-- what people write (internal/session).
CREATE TABLE agent_runtimes (
    agent_id text PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    seen_at  timestamptz NOT NULL
);

-- quiet_times: when a person's cards come silently (bot). quiet_from and quiet_to
-- are minutes of the day in zone, both null for no quiet hours.
CREATE TABLE quiet_times (
    user_id     text PRIMARY KEY REFERENCES users (id),
    muted_until timestamptz,
    quiet_from  smallint CHECK (quiet_from BETWEEN 0 AND 1439),
    quiet_to    smallint CHECK (quiet_to BETWEEN 0 AND 1439),
    zone        text NOT NULL DEFAULT '',
    CHECK ((quiet_from IS NULL) = (quiet_to IS NULL))
);

-- +goose Down
DROP TABLE quiet_times;
DROP TABLE agent_runtimes;
DROP TABLE chat_calls;
DROP TABLE chats;
