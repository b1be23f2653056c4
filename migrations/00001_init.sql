-- +goose Up

-- Each table has one owning package; its SQL lives there.

-- installation: one row by which a process knows the secret key (internal/secret).
CREATE TABLE installation (
    single    boolean PRIMARY KEY DEFAULT true CHECK (single),
    key_check bytea NOT NULL
);

-- agents: registered callers and their settings (internal/identity).
CREATE TABLE agents (
    id               text PRIMARY KEY,
    default_decision text NOT NULL DEFAULT 'deny'
        CHECK (default_decision IN ('allow', 'deny', 'require_approval')),
    access           text NOT NULL DEFAULT 'private'
        CHECK (access IN ('public', 'protected', 'private')),
    -- Deprecated: read as virtual rows.
    autonomy_level       text NOT NULL DEFAULT 'full'
        CHECK (autonomy_level IN ('readonly', 'supervised', 'full')),
    require_approval_for text[] NOT NULL DEFAULT '{}',
    last_short_id    integer NOT NULL DEFAULT 0,
    policy_version   bigint NOT NULL DEFAULT 1,
    created_at       timestamptz NOT NULL DEFAULT now()
);

-- users: people, and what they are known as on each channel (internal/identity).
CREATE TABLE users (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    merged_into text REFERENCES users (id),
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE user_identities (
    channel         text NOT NULL,
    channel_user_id text NOT NULL,
    user_id         text NOT NULL REFERENCES users (id),
    name            text NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel, channel_user_id)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE agent_members (
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    user_id    text NOT NULL REFERENCES users (id),
    role       text NOT NULL CHECK (role IN ('owner', 'user', 'guest')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (agent_id, user_id)
);

-- A circle is there for as long as somebody is in it.
CREATE TABLE circle_members (
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    circle     text NOT NULL,
    user_id    text NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (agent_id, circle, user_id)
);

CREATE TABLE link_tokens (
    token_hash bytea PRIMARY KEY,
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    role       text NOT NULL CHECK (role IN ('owner', 'user', 'guest')),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    used_by    text
);

CREATE TABLE agent_keys (
    prefix     text PRIMARY KEY,
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    hash       text NOT NULL,
    user_id    text REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX agent_keys_agent ON agent_keys (agent_id);

-- channels: adapters that run outside (internal/identity). Holm's own channels,
-- which settings name, have no row.
CREATE TABLE channels (
    namespace  text PRIMARY KEY,
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    url        text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- servers: upstream MCP servers (internal/server). env and headers are sealed.
CREATE TABLE servers (
    name       text PRIMARY KEY,
    transport  text NOT NULL CHECK (transport IN ('stdio', 'http')),
    command    text[] NOT NULL DEFAULT '{}',
    url        text NOT NULL DEFAULT '',
    secrets    bytea,
    maps       jsonb NOT NULL DEFAULT '[]',
    version    integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((transport = 'stdio' AND cardinality(command) > 0 AND url = '')
        OR (transport = 'http' AND cardinality(command) = 0 AND url <> ''))
);

-- agent_policies: rows that decide calls (policy/rulestore).
CREATE TABLE agent_policies (
    id            text PRIMARY KEY,
    agent_id      text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    resource_type text NOT NULL CHECK (resource_type IN ('tool', 'file', 'exec', 'mcp')),
    resource_key  text NOT NULL,
    effect        text NOT NULL CHECK (effect IN ('allow', 'deny', 'require_approval')),
    grants        jsonb NOT NULL DEFAULT '[]',
    scope         jsonb NOT NULL DEFAULT '{}',
    scope_key     text NOT NULL DEFAULT '{}',
    origin        text NOT NULL DEFAULT 'admin' CHECK (origin IN ('admin', 'approval', 'synthesized')),
    note          text NOT NULL DEFAULT '',
    version       integer NOT NULL DEFAULT 1,
    created_by    text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now()
);
-- scope_key is the canonical scope; hashed, since an index entry is bounded.
CREATE UNIQUE INDEX agent_policies_key ON agent_policies
    (agent_id, resource_type, resource_key, effect, origin, sha256(scope_key::bytea));

-- sessions: conversations and MCP connections with their events (internal/session).
CREATE TABLE sessions (
    id           text PRIMARY KEY,
    agent_id     text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    kind         text NOT NULL CHECK (kind IN ('mcp', 'key', 'api', 'chat')),
    requester_id text NOT NULL,
    key_prefix   text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sessions_agent ON sessions (agent_id, created_at);

CREATE SEQUENCE session_event_ids;
CREATE TABLE session_events (
    id         bigint PRIMARY KEY,
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id   text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    type       text NOT NULL,
    payload    json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_events_session ON session_events (session_id, id);
CREATE INDEX session_events_agent ON session_events (agent_id, id);

-- approval_requests: one question to the owner; a state machine in one row (approvals).
-- What callers sent is json, not jsonb: jsonb refuses \u0000 and large exponents.
CREATE TABLE approval_requests (
    id             text PRIMARY KEY,
    agent_id       text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    short_id       integer NOT NULL,
    session_id     text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    requester_id   text NOT NULL,
    requester_name text NOT NULL,
    resource_type  text NOT NULL CHECK (resource_type IN ('tool', 'file', 'exec', 'mcp')),
    resource_key   text NOT NULL,
    scope          jsonb NOT NULL DEFAULT '{}',
    args           json NOT NULL,
    args_bytes     bytea NOT NULL,
    args_digest    text NOT NULL,
    args_sha256    text NOT NULL,
    rule_id        text NOT NULL,
    rule_text      text NOT NULL,
    settings       jsonb NOT NULL DEFAULT '{}',
    mode           text NOT NULL DEFAULT 'async' CHECK (mode IN ('async', 'realtime')),
    status         text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'cancelled')),
    resolution     text CHECK (resolution IN ('single', 'once', 'persistent')),
    extent         text CHECK (extent IN ('tool', 'arguments')),
    resolved_by    text,
    resolved_name  text,
    resolved_via   text,
    reason         text,
    ttl_minutes    integer NOT NULL DEFAULT 60,
    duplicate_of   text REFERENCES approval_requests (id),
    version        integer NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz NOT NULL,
    resolved_at    timestamptz,
    claimed_at     timestamptz,
    claimed_by     bigint,
    finished_at    timestamptz,
    outcome        text CHECK (outcome IN ('succeeded', 'failed', 'outcome_unknown')),
    result         bytea,
    told_at        timestamptz,
    UNIQUE (agent_id, short_id),
    CHECK ((status = 'approved') = (resolution IS NOT NULL)),
    CHECK (extent IS NULL OR resolution = 'persistent'),
    CHECK ((status = 'pending') = (resolved_at IS NULL)),
    CHECK (claimed_at IS NULL OR status = 'approved'),
    CHECK (finished_at IS NULL OR claimed_at IS NOT NULL),
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
);
CREATE INDEX approval_requests_status ON approval_requests (agent_id, status);
CREATE INDEX approval_requests_pending ON approval_requests (expires_at) WHERE status = 'pending';
CREATE INDEX approval_requests_running ON approval_requests (claimed_at)
    WHERE claimed_at IS NOT NULL AND finished_at IS NULL;
-- One open question for one call: a retry attaches to it.
CREATE UNIQUE INDEX approval_requests_open ON approval_requests
    (agent_id, requester_id, args_digest) WHERE status = 'pending' AND duplicate_of IS NULL;
CREATE INDEX approval_requests_call ON approval_requests
    (agent_id, requester_id, args_digest, created_at DESC);

-- approval_grants: what an approval left behind (approvals).
CREATE TABLE approval_grants (
    id            text PRIMARY KEY,
    agent_id      text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    requester_id  text NOT NULL,
    resource_type text NOT NULL,
    resource_key  text NOT NULL,
    rule_id       text NOT NULL,
    args_digest   text,
    uses_left     integer CHECK (uses_left >= 0),
    uses          integer NOT NULL DEFAULT 0,
    valid_until   timestamptz NOT NULL,
    revoked_at    timestamptz,
    request_id    text NOT NULL REFERENCES approval_requests (id) ON DELETE CASCADE,
    created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX approval_grants_call ON approval_grants (agent_id, requester_id, resource_key, valid_until);
CREATE INDEX approval_grants_request ON approval_grants (request_id);

-- card_deliveries: one card at one recipient (approvals queues, bot delivers).
CREATE TABLE card_deliveries (
    id            text PRIMARY KEY,
    request_id    text NOT NULL REFERENCES approval_requests (id) ON DELETE CASCADE,
    channel       text NOT NULL,
    identity      text NOT NULL,
    user_id       text NOT NULL REFERENCES users (id),
    button_id     bytea NOT NULL UNIQUE,
    state         text NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'sent', 'unreachable', 'skipped')),
    chat          text NOT NULL DEFAULT '',
    message       text NOT NULL DEFAULT '',
    shown_version integer NOT NULL DEFAULT 0,
    shown_hash    text NOT NULL DEFAULT '',
    attempts      integer NOT NULL DEFAULT 0,
    last_error    text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    sent_at       timestamptz,
    UNIQUE (request_id, channel, identity)
);

-- inbox: what platforms sent, stored before it is confirmed to them (bot).
CREATE TABLE inbox (
    channel     text NOT NULL,
    event_id    text NOT NULL,
    payload     json NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    handled_at  timestamptz,
    PRIMARY KEY (channel, event_id)
);

-- audit_log: append-only and hash-chained (internal/audit). A record is written to
-- audit_queue by the transaction it tells of, and chained by one writer afterwards,
-- so that transactions do not wait for each other.
CREATE TABLE audit_queue (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    kind     text NOT NULL,
    agent_id text NOT NULL DEFAULT '',
    actor    text NOT NULL DEFAULT '',
    data     json NOT NULL
);

CREATE TABLE audit_log (
    seq       bigint PRIMARY KEY,
    at        timestamptz NOT NULL,
    kind      text NOT NULL,
    agent_id  text NOT NULL,
    actor     text NOT NULL,
    data      text NOT NULL,
    prev_hash bytea NOT NULL,
    hash      bytea NOT NULL
);
CREATE INDEX audit_log_agent ON audit_log (agent_id, seq);

-- +goose StatementBegin
CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_log is append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();

-- +goose Down
DROP TABLE audit_log;
DROP FUNCTION audit_log_is_append_only;
DROP TABLE audit_queue;
DROP TABLE inbox;
DROP TABLE card_deliveries;
DROP TABLE approval_grants;
DROP TABLE approval_requests;
DROP TABLE session_events;
DROP SEQUENCE session_event_ids;
DROP TABLE sessions;
DROP TABLE agent_policies;
DROP TABLE servers;
DROP TABLE channels;
DROP TABLE agent_keys;
DROP TABLE link_tokens;
DROP TABLE circle_members;
DROP TABLE agent_members;
DROP TABLE user_identities;
DROP TABLE users;
DROP TABLE agents;
DROP TABLE installation;
