module holm

go 1.26.0

require github.com/go-telegram/bot v1.19.0

require github.com/slack-go/slack v0.36.0

require github.com/jackc/pgx/v5 v5.13.0

require github.com/riverqueue/river v0.51.2

require github.com/riverqueue/river/riverdriver/riverpgxv5 v0.51.2

require github.com/riverqueue/river/rivertype v0.51.2

require github.com/modelcontextprotocol/go-sdk v1.8.0

require github.com/labstack/echo/v4 v4.16.4

require github.com/pressly/goose/v3 v3.30.1

require github.com/kballard/go-shellquote v0.0.0-20180428030007-95032a82bc51

require github.com/spf13/cobra v1.10.2

require github.com/danielgtaylor/huma/v2 v2.39.0

require github.com/google/uuid v1.6.0

require github.com/google/go-cmp v0.7.0

require pgregory.net/rapid v1.3.0

require github.com/rogpeppe/go-internal v1.16.0

require go.uber.org/goleak v1.3.0

require github.com/caarlos0/env/v11 v11.4.2

require go.yaml.in/yaml/v3 v3.0.6

require github.com/cenkalti/backoff/v5 v5.0.3

require golang.org/x/term v0.48.0

require (
	github.com/bwmarrin/discordgo v0.29.0
	github.com/gorilla/websocket v1.5.3
	github.com/jackc/puddle/v2 v2.2.3
	github.com/riverqueue/river/riverdriver v0.51.2
	github.com/spf13/pflag v1.0.10
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	golang.org/x/crypto v0.58.0
	golang.org/x/time v0.15.0
	mvdan.cc/sh/v3 v3.14.1
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/labstack/gommon v0.5.0 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/mfridman/interpolate v0.2.0 // indirect
	github.com/riverqueue/river/rivershared v0.51.2 // indirect
	github.com/segmentio/asm v1.2.1 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/sethvargo/go-retry v0.5.0 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.2.0 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
