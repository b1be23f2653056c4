-- +goose Up

-- shown_all_at: since when the recipient has been brought all of the arguments, by
-- Details or a form; NULL while the card alone was shown (package bot).
ALTER TABLE card_deliveries ADD COLUMN shown_all_at timestamptz;

-- view: what the card shows of lasting approvals: empty, more, or the confirmation of
-- one (package bot).
ALTER TABLE card_deliveries ADD COLUMN view text NOT NULL DEFAULT '';

-- claim: what the agent says of its call, in its own words; empty for nothing
-- (approvals).
ALTER TABLE approval_requests ADD COLUMN claim text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE approval_requests DROP COLUMN claim;
ALTER TABLE card_deliveries DROP COLUMN view;
ALTER TABLE card_deliveries DROP COLUMN shown_all_at;
