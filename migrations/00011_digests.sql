-- +goose Up

-- card_windows: until when further cards for one recipient gather (bot).
CREATE TABLE card_windows (
    channel  text NOT NULL,
    identity text NOT NULL,
    ends_at  timestamptz NOT NULL,
    PRIMARY KEY (channel, identity)
);

-- card_digests: one message that lists several requests at one recipient (bot).
-- reviewing is the form in which they are shown in full and decided together.
CREATE TABLE card_digests (
    id         text PRIMARY KEY,
    channel    text NOT NULL,
    identity   text NOT NULL,
    button_id  bytea NOT NULL UNIQUE,
    state      text NOT NULL DEFAULT 'collecting'
        CHECK (state IN ('collecting', 'closed', 'sent', 'dissolved')),
    reviewing  boolean NOT NULL DEFAULT false,
    chat       text NOT NULL DEFAULT '',
    message    text NOT NULL DEFAULT '',
    shown_hash text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX card_digests_collecting ON card_digests (channel, identity)
    WHERE state = 'collecting';

-- A delivery that a digest lists has no message of its own until it is asked for.
ALTER TABLE card_deliveries
    ADD COLUMN digest_id text REFERENCES card_digests (id),
    ADD COLUMN digest_place smallint;
CREATE UNIQUE INDEX card_deliveries_digest ON card_deliveries (digest_id, digest_place)
    WHERE digest_id IS NOT NULL;

-- +goose Down
ALTER TABLE card_deliveries DROP COLUMN digest_place, DROP COLUMN digest_id;
DROP TABLE card_digests;
DROP TABLE card_windows;
