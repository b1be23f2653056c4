-- +goose Up

-- inbox: actor is who acted, NULL where that cannot be read; their events on a
-- channel are handled one after the other, by arrival. ended tells that the next
-- one may begin. handled_at is when what the event does was done, which may be
-- earlier: replies follow. unread_told_at is when its actor was told that what came
-- with it cannot be read.
ALTER TABLE inbox
    ADD COLUMN actor text,
    ADD COLUMN arrival bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN ended boolean NOT NULL DEFAULT false,
    ADD COLUMN unread_told_at timestamptz;
CREATE INDEX inbox_turns ON inbox (channel, actor, arrival) WHERE NOT ended AND actor IS NOT NULL;
CREATE INDEX inbox_unread ON inbox (channel, actor, unread_told_at) WHERE unread_told_at IS NOT NULL;

-- chat_calls: at is the message in whose thread the answers go, {} for none.
ALTER TABLE chat_calls ADD COLUMN at json NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE chat_calls DROP COLUMN at;
DROP INDEX inbox_unread;
DROP INDEX inbox_turns;
ALTER TABLE inbox
    DROP COLUMN actor,
    DROP COLUMN arrival,
    DROP COLUMN ended,
    DROP COLUMN unread_told_at;
