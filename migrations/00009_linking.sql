-- +goose Up

-- user_merges: which user was found to be the same person as another. The edges
-- that stand make a forest; users.merged_into is its shortcut, always the root, so
-- that a look-up follows any chain in one step (internal/identity).
CREATE TABLE user_merges (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_id text NOT NULL REFERENCES users (id),
    target_id text NOT NULL REFERENCES users (id),
    merged_by text NOT NULL,
    merged_at timestamptz NOT NULL DEFAULT now(),
    undone_by text,
    undone_at timestamptz,
    CHECK (source_id <> target_id)
);
CREATE UNIQUE INDEX user_merges_source ON user_merges (source_id) WHERE undone_at IS NULL;
CREATE INDEX user_merges_target ON user_merges (target_id) WHERE undone_at IS NULL;
INSERT INTO user_merges (source_id, target_id, merged_by)
SELECT id, merged_into, 'admin'
FROM users
WHERE merged_into IS NOT NULL;
CREATE INDEX users_person ON users ((COALESCE(merged_into, id)));

-- What strangers present to an agent whose access is protected.
ALTER TABLE agents ADD COLUMN access_token_hash bytea;

-- token_tries: wrong tokens that one identity presented lately (internal/identity).
CREATE TABLE token_tries (
    channel  text NOT NULL,
    identity text NOT NULL,
    wrong    integer NOT NULL,
    since    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (channel, identity)
);

-- link_dialogs: two sides that say they are one person (internal/linking). Side a
-- asked, side b presented the token; each says yes, an owner twice.
CREATE TABLE link_dialogs (
    id           text PRIMARY KEY,
    agent_id     text NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    token_hash   bytea NOT NULL UNIQUE,
    a_user       text NOT NULL REFERENCES users (id),
    a_channel    text NOT NULL,
    a_identity   text NOT NULL,
    a_yes        integer NOT NULL DEFAULT 0,
    b_user       text REFERENCES users (id),
    b_channel    text,
    b_identity   text,
    b_yes        integer NOT NULL DEFAULT 0,
    state        text NOT NULL DEFAULT 'asked'
        CHECK (state IN ('asked', 'presented', 'linked', 'refused')),
    merge_number bigint REFERENCES user_merges (number),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    CHECK ((state = 'asked') = (b_user IS NULL) OR state = 'refused'),
    CHECK ((state = 'linked') = (merge_number IS NOT NULL))
);
CREATE INDEX link_dialogs_a ON link_dialogs (a_user);
CREATE INDEX link_dialogs_b ON link_dialogs (b_user);

-- +goose Down
DROP TABLE link_dialogs;
DROP TABLE token_tries;
ALTER TABLE agents DROP COLUMN access_token_hash;
DROP INDEX users_person;
DROP TABLE user_merges;
