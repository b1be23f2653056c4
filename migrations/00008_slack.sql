-- +goose Up

-- Pages that a platform shows one person (Slack's App Home), since they opened
-- it first. wanted counts the changes to show, shown those that are shown.
CREATE TABLE home_pages (
    channel  text NOT NULL,
    identity text NOT NULL,
    wanted   bigint NOT NULL DEFAULT 1,
    shown    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (channel, identity)
);

-- +goose Down

DROP TABLE home_pages;
