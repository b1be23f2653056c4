// Package settings reads how one Holm process is set up: from flags, HOLM_*
// variables and holm.yaml, in this order. It owns the names, the defaults and
// the checks, the two secrets that a first start makes, and the note by which
// the command line finds a running server. What a setting does belongs to
// whoever is given it.
package settings

import (
	"cmp"
	"net"
	"strings"
	"time"
)

// Settings are the values of one process after Load: checked, with defaults.
// Fields that are "" when not configured say so.
type Settings struct {
	// Listen is the HTTP address. Default DefaultListen.
	Listen string `env:"HOLM_LISTEN" yaml:"listen"`
	// PublicURL is the address in links, without a slash at its end. Empty:
	// see Public.
	PublicURL string `env:"HOLM_PUBLIC_URL" yaml:"public_url"`
	// DatabaseURL is a PostgreSQL 14 or newer. Empty: Holm runs its own.
	DatabaseURL string `env:"HOLM_DATABASE_URL" yaml:"database_url"`
	// DataDir holds the embedded database, the secret files and server.json.
	// It is absolute. Default embedded.DefaultDataDir.
	DataDir string `env:"HOLM_DATA_DIR" yaml:"data_dir"`
	// AdminToken is the operator's credential. Empty: see WithSecrets.
	AdminToken string `env:"HOLM_ADMIN_TOKEN" yaml:"admin_token"`
	// SecretKey seals secrets at rest and signs buttons. Empty: see WithSecrets.
	SecretKey string `env:"HOLM_SECRET_KEY" yaml:"secret_key"`
	// PGBin is the folder of initdb and postgres. Empty: they are searched.
	PGBin string `env:"HOLM_PG_BIN" yaml:"pg_bin"`
	// Agent is the agent of channels set up here. Default DefaultAgent.
	Agent string `env:"HOLM_AGENT" yaml:"agent"`
	// Owners become owners of Agent at start.
	Owners Owners `env:"HOLM_OWNERS" yaml:"owners"`
	// Hold is how long a blocked call waits for its answer when its client says
	// nothing else; at most 10 minutes. Default 45 s.
	Hold time.Duration `env:"HOLM_HOLD" yaml:"hold"`
	// MaxOpenPerSession and MaxOpenPerRequester bound how many requests may wait
	// for an answer at one time. Defaults 10 and 20.
	MaxOpenPerSession   int `env:"HOLM_MAX_OPEN_PER_SESSION" yaml:"max_open_per_session"`
	MaxOpenPerRequester int `env:"HOLM_MAX_OPEN_PER_REQUESTER" yaml:"max_open_per_requester"`
	Limits              `yaml:",inline"`
	// Realtime is how long an owner whose MCP client can ask them is asked there,
	// before cards go out; at most 10 minutes, 0 for not at all. Default
	// DefaultRealtime.
	Realtime time.Duration `env:"HOLM_REALTIME" yaml:"realtime"`
	// DigestWindow is how long further cards for one person gather after a card,
	// to come as one list; at most a minute, 0 for each by itself. Default
	// DefaultDigestWindow.
	DigestWindow time.Duration `env:"HOLM_DIGEST_WINDOW" yaml:"digest_window"`
	// TimeZone is that of people who have named none to the bot, such as Europe/Oslo;
	// empty: unknown, and times are told in UTC with how long from now.
	TimeZone string `env:"HOLM_TIME_ZONE" yaml:"time_zone"`
	// URL is the server that the command line talks to; serve ignores it.
	// Empty: the one of DataDir.
	URL string `env:"HOLM_URL" yaml:"url"`
	// AgentKey is the access key that holm guard and holm hook speak with; serve
	// ignores it.
	AgentKey string `env:"HOLM_AGENT_KEY" yaml:"agent_key"`
	// Session is the session for whose person holm guard and holm hook ask with the
	// agent's own key; serve ignores it. Empty: they ask for the key.
	Session  string   `env:"HOLM_SESSION" yaml:"session"`
	Telegram Telegram `envPrefix:"HOLM_TELEGRAM_" yaml:"telegram"`
	Slack    Slack    `envPrefix:"HOLM_SLACK_" yaml:"slack"`
	Discord  Discord  `envPrefix:"HOLM_DISCORD_" yaml:"discord"`
}

// Telegram is the channel "telegram"; without a Token there is none.
type Telegram struct {
	Token string `env:"TOKEN" yaml:"token"`
	// APIURL replaces the public Bot API. Empty: the public one.
	APIURL string `env:"API_URL" yaml:"api_url"`
	// Mode is how updates arrive: TelegramPolling or TelegramWebhook.
	Mode string `env:"MODE" yaml:"mode"`
}

// Slack is the channel "slack"; without a BotToken there is none.
type Slack struct {
	BotToken string `env:"BOT_TOKEN" yaml:"bot_token"`
	// AppToken opens the socket.
	AppToken string `env:"APP_TOKEN" yaml:"app_token"`
	// SigningSecret proves that calls of the mode events are Slack's.
	SigningSecret string `env:"SIGNING_SECRET" yaml:"signing_secret"`
	// APIURL replaces the public Web API. Empty: the public one.
	APIURL string `env:"API_URL" yaml:"api_url"`
	// Mode is how events arrive: SlackSocket or SlackEvents.
	Mode string `env:"MODE" yaml:"mode"`
}

// Discord is the channel "discord"; without a Token there is none.
type Discord struct {
	Token string `env:"TOKEN" yaml:"token"`
	// APIURL replaces the public REST API, version included. Empty: the public one.
	APIURL string `env:"API_URL" yaml:"api_url"`
}

// The modes of Telegram.
const (
	TelegramPolling = "polling"
	TelegramWebhook = "webhook"
)

// The modes of Slack.
const (
	SlackSocket = "socket"
	SlackEvents = "events"
)

const (
	// DefaultListen is reachable from this machine alone.
	DefaultListen = "127.0.0.1:4767"
	// DefaultAgent is used where no agent is named.
	DefaultAgent = "main"
	// DefaultRealtime is long enough to read and choose.
	DefaultRealtime = 2 * time.Minute
	// DefaultDigestWindow lets an agent's parallel calls arrive together, and is
	// over before the first card has been read.
	DefaultDigestWindow = 2 * time.Second
)

// Public gives the address for links: PublicURL, or one made of the address
// that the server listens at. An unspecified host becomes localhost.
func (s Settings) Public(listening string) string {
	if s.PublicURL != "" {
		return s.PublicURL
	}
	host, port, err := net.SplitHostPort(listening)
	if err != nil {
		return "http://" + listening
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (s *Settings) setDefaults() error {
	s.Listen = cmp.Or(s.Listen, DefaultListen)
	s.Agent = cmp.Or(s.Agent, DefaultAgent)
	s.Telegram.Mode = cmp.Or(s.Telegram.Mode, TelegramPolling)
	s.Slack.Mode = cmp.Or(s.Slack.Mode, SlackSocket)
	s.PublicURL = strings.TrimRight(s.PublicURL, "/")
	s.URL = strings.TrimRight(s.URL, "/")
	var err error
	s.DataDir, err = dataDir(s.DataDir)
	return err
}
