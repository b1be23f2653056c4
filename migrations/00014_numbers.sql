-- +goose Up

-- Each agent numbers its requests by a sequence of its own (approvals): a counter in
-- its row would be locked by each ask until it commits, one after the other.
CREATE SCHEMA approval_numbers;

-- +goose StatementBegin
CREATE FUNCTION agent_numbers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        EXECUTE format('CREATE SEQUENCE approval_numbers.%I AS integer', md5(NEW.id));
    ELSE
        EXECUTE format('DROP SEQUENCE approval_numbers.%I', md5(OLD.id));
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    agent record;
BEGIN
    FOR agent IN SELECT id, last_short_id FROM agents LOOP
        EXECUTE format('CREATE SEQUENCE approval_numbers.%I AS integer START WITH %s', md5(agent.id), agent.last_short_id + 1);
    END LOOP;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER agent_numbers AFTER INSERT OR DELETE ON agents
    FOR EACH ROW EXECUTE FUNCTION agent_numbers();
ALTER TABLE agents DROP COLUMN last_short_id;

-- +goose Down
ALTER TABLE agents ADD COLUMN last_short_id integer NOT NULL DEFAULT 0;
UPDATE agents a
SET last_short_id = COALESCE((SELECT max(short_id) FROM approval_requests WHERE agent_id = a.id), 0);
DROP TRIGGER agent_numbers ON agents;
DROP FUNCTION agent_numbers;
DROP SCHEMA approval_numbers CASCADE;
