-- +goose Up

-- inbox: actor is who acted, NULL where that cannot be read; their events on a
-- channel are handled one after the other, by arrival. ended tells that the next
-- one may begin. handled_at is when what the event does was done, which may be
-- earlier: replies follow.
ALTER TABLE inbox
    ADD COLUMN actor text,
    ADD COLUMN arrival bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN ended boolean NOT NULL DEFAULT false;
CREATE INDEX inbox_turns ON inbox (channel, actor, arrival) WHERE NOT ended AND actor IS NOT NULL;

-- +goose Down
DROP INDEX inbox_turns;
ALTER TABLE inbox
    DROP COLUMN actor,
    DROP COLUMN arrival,
    DROP COLUMN ended;
