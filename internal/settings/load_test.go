package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"holm/internal/identity"
	"holm/internal/settings"
)

// clean gives the test an environment without settings, and a data folder.
func clean(t *testing.T) (dir string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "HOLM_") {
			t.Setenv(name, "")
		}
	}
	dir = t.TempDir()
	t.Setenv("HOLM_DATA_DIR", dir)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func flags(t *testing.T, args ...string) settings.Flags {
	t.Helper()
	var f settings.Flags
	set := pflag.NewFlagSet("holm", pflag.ContinueOnError)
	f.AddFile(set)
	f.AddServer(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func load(t *testing.T, args ...string) settings.Settings {
	t.Helper()
	s, err := settings.Load(flags(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaults(t *testing.T) {
	dir := clean(t)
	want := settings.Settings{
		Listen: "127.0.0.1:4767", DataDir: dir, Agent: "main", Realtime: 2 * time.Minute, DigestWindow: 2 * time.Second, MaxOpenPerSession: 10, MaxOpenPerRequester: 20, Limits: settings.DefaultLimits,
		Telegram: settings.Telegram{Mode: "polling"}, Slack: settings.Slack{Mode: "socket"},
	}
	if diff := cmp.Diff(want, load(t)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryVariable(t *testing.T) {
	dir := clean(t)
	for name, value := range map[string]string{
		"HOLM_LISTEN": "0.0.0.0:80", "HOLM_PUBLIC_URL": "https://holm.example/", "HOLM_URL": "http://there:1/",
		"HOLM_DATABASE_URL": "postgres://u@h/d", "HOLM_PG_BIN": "/pg", "HOLM_AGENT": "claude", "HOLM_HOLD": "30s", "HOLM_REALTIME": "90s",
		"HOLM_ADMIN_TOKEN": "admin-token-of-operator", "HOLM_SECRET_KEY": "secret-key-of-operator",
		"HOLM_OWNERS":         "telegram:123456, slack:T01/U02,matrix:@a:b",
		"HOLM_TELEGRAM_TOKEN": "1:a", "HOLM_TELEGRAM_API_URL": "http://tg", "HOLM_TELEGRAM_MODE": "polling",
		"HOLM_SLACK_BOT_TOKEN": "xoxb", "HOLM_SLACK_APP_TOKEN": "xapp", "HOLM_SLACK_API_URL": "http://sl",
		"HOLM_SLACK_MODE": "events", "HOLM_SLACK_SIGNING_SECRET": "signed",
		"HOLM_DISCORD_TOKEN": "a.b.c", "HOLM_DISCORD_API_URL": "http://dc/api/v10",
		"HOLM_MAX_OPEN_PER_SESSION": "3", "HOLM_MAX_OPEN_PER_REQUESTER": "5", "HOLM_DIGEST_WINDOW": "3s", "HOLM_TIME_ZONE": "Europe/Oslo",
		"HOLM_MAX_CONNECTIONS": "100", "HOLM_MAX_CONNECTIONS_PER_KEY": "7", "HOLM_MAX_BODIES": "1GiB", "HOLM_MAX_BODIES_PER_KEY": "8MiB",
		"HOLM_MAX_ARGS": "64KiB", "HOLM_BODY_TIME": "5s", "HOLM_MAX_ASKS_PER_MINUTE": "9",
		"HOLM_TEST_ANYTHING": "is not ours",
	} {
		t.Setenv(name, value)
	}
	want := settings.Settings{
		Listen: "0.0.0.0:80", PublicURL: "https://holm.example", URL: "http://there:1",
		DatabaseURL: "postgres://u@h/d", DataDir: dir, PGBin: "/pg", Agent: "claude", Hold: 30 * time.Second, Realtime: 90 * time.Second,
		MaxOpenPerSession: 3, MaxOpenPerRequester: 5, DigestWindow: 3 * time.Second, TimeZone: "Europe/Oslo",
		Limits: settings.Limits{MaxConnections: 100, MaxConnectionsPerKey: 7, MaxBodies: 1 << 30, MaxBodiesPerKey: 8 << 20,
			MaxArgs: 64 << 10, BodyTime: 5 * time.Second, MaxAsksPerMinute: 9},
		AdminToken: "admin-token-of-operator", SecretKey: "secret-key-of-operator",
		Owners: settings.Owners{
			{Channel: "telegram", Identity: "123456"}, {Channel: "slack", Identity: "T01/U02"}, {Channel: "matrix", Identity: "@a:b"},
		},
		Telegram: settings.Telegram{Token: "1:a", APIURL: "http://tg", Mode: "polling"},
		Slack:    settings.Slack{BotToken: "xoxb", AppToken: "xapp", SigningSecret: "signed", APIURL: "http://sl", Mode: "events"},
		Discord:  settings.Discord{Token: "a.b.c", APIURL: "http://dc/api/v10"},
	}
	if diff := cmp.Diff(want, load(t)); diff != "" {
		t.Error(diff)
	}
}

func TestFlagsOverVariablesOverFile(t *testing.T) {
	dir := clean(t)
	write(t, filepath.Join(dir, "holm.yaml"), "listen: 127.0.0.1:1\nagent: fromfile\npg_bin: /fromfile\n")
	t.Setenv("HOLM_LISTEN", "127.0.0.1:2")
	t.Setenv("HOLM_AGENT", "fromvariable")
	s := load(t, "--listen", "127.0.0.1:3")
	if got, want := [3]string{s.Listen, s.Agent, s.PGBin}, [3]string{"127.0.0.1:3", "fromvariable", "/fromfile"}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEveryFlag(t *testing.T) {
	clean(t)
	dir := t.TempDir()
	got := load(t, "--data-dir", dir, "--listen", ":5", "--public-url", "http://p", "--database-url", "postgresql://h/d",
		"--pg-bin", "/b", "--agent", "a", "--hold", "1m", "--realtime", "0s", "--owners", "telegram:7")
	want := settings.Settings{
		Listen: ":5", PublicURL: "http://p", DatabaseURL: "postgresql://h/d", DataDir: dir, PGBin: "/b", Agent: "a", Hold: time.Minute,
		MaxOpenPerSession: 10, MaxOpenPerRequester: 20, Limits: settings.DefaultLimits, DigestWindow: 2 * time.Second,
		Owners:   settings.Owners{identity.Address{Channel: "telegram", Identity: "7"}},
		Telegram: settings.Telegram{Mode: "polling"}, Slack: settings.Slack{Mode: "socket"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFile(t *testing.T) {
	clean(t)
	path := filepath.Join(t.TempDir(), "mine.yaml")
	write(t, path, `
listen: 127.0.0.1:9
owners: [telegram:1, "slack:T1/U1"]
telegram:
  token: "1:a"
slack: {bot_token: b, app_token: a}
`)
	byFlag := load(t, "--config", path)
	t.Setenv("HOLM_CONFIG", path)
	byVariable := load(t)
	if diff := cmp.Diff(byFlag, byVariable); diff != "" {
		t.Error(diff)
	}
	if byFlag.Listen != "127.0.0.1:9" || len(byFlag.Owners) != 2 || byFlag.Telegram.Token != "1:a" || byFlag.Slack.AppToken != "a" {
		t.Errorf("got %+v", byFlag)
	}
}

func TestSecretFiles(t *testing.T) {
	clean(t)
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, "  a-token-from-a-file\n")
	names := []string{"HOLM_ADMIN_TOKEN", "HOLM_SECRET_KEY", "HOLM_TELEGRAM_TOKEN", "HOLM_SLACK_BOT_TOKEN", "HOLM_SLACK_APP_TOKEN", "HOLM_SLACK_SIGNING_SECRET", "HOLM_DISCORD_TOKEN"}
	for _, name := range names {
		t.Setenv(name+"_FILE", path)
	}
	s := load(t)
	for i, got := range []string{s.AdminToken, s.SecretKey, s.Telegram.Token, s.Slack.BotToken, s.Slack.AppToken, s.Slack.SigningSecret, s.Discord.Token} {
		if got != "a-token-from-a-file" {
			t.Errorf("%s = %q", names[i], got)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, variable, value, want string
	}{
		{"typo", "HOLM_LISTN", "x", "did you mean HOLM_LISTEN"},
		{"no neighbour", "HOLM_NOTHING_OF_THE_KIND", "x", "HOLM_NOTHING_OF_THE_KIND: there is no such setting"},
		{"no port", "HOLM_LISTEN", "localhost", "want host:port"},
		{"large port", "HOLM_LISTEN", ":70000", "want host:port"},
		{"public url", "HOLM_PUBLIC_URL", "holm.example", "HOLM_PUBLIC_URL: want an address"},
		{"public url with query", "HOLM_PUBLIC_URL", "http://h/?a", "query"},
		{"url", "HOLM_URL", "ftp://h", "HOLM_URL: want an address"},
		{"telegram url", "HOLM_TELEGRAM_API_URL", "x", "HOLM_TELEGRAM_API_URL"},
		{"slack url", "HOLM_SLACK_API_URL", "x", "HOLM_SLACK_API_URL"},
		{"discord url", "HOLM_DISCORD_API_URL", "x", "HOLM_DISCORD_API_URL"},
		{"database", "HOLM_DATABASE_URL", "host=h", "want postgres://"},
		{"short token", "HOLM_ADMIN_TOKEN", "short", "shorter than 16"},
		{"spaced token", "HOLM_ADMIN_TOKEN", "a token with some spaces", "spaces"},
		{"short key", "HOLM_SECRET_KEY", "short", "shorter than 16"},
		{"agent", "HOLM_AGENT", "two words", "HOLM_AGENT"},
		{"owner without channel", "HOLM_OWNERS", "123", "not an identity"},
		{"owner by name", "HOLM_OWNERS", "telegram:@peter", "numeric user id"},
		{"owner by name", "HOLM_OWNERS", "discord:ann", "numeric user id"},
		{"owner without team", "HOLM_OWNERS", "slack:U02", "team and user id"},
		{"no duration", "HOLM_HOLD", "soon", "HOLM_HOLD: the value cannot be read: want a span of time such as 45s"},
		{"no number", "HOLM_MAX_OPEN_PER_SESSION", "many", "HOLM_MAX_OPEN_PER_SESSION: the value cannot be read: want a whole number"},
		{"negative", "HOLM_HOLD", "-1s", "want a duration"},
		{"long", "HOLM_HOLD", "1h", "at most 10m"},
		{"no request at all", "HOLM_MAX_OPEN_PER_SESSION", "0", "want a number from 1"},
		{"too many requests", "HOLM_MAX_OPEN_PER_REQUESTER", "10001", "want a number from 1 to 10000"},
		{"no number", "HOLM_MAX_OPEN_PER_SESSION", "many", "HOLM_MAX_OPEN_PER_SESSION: the value cannot be read"},
		{"no connection at all", "HOLM_MAX_CONNECTIONS", "0", "want a number from 1"},
		{"no connection of a key", "HOLM_MAX_CONNECTIONS_PER_KEY", "0", "want a number from 1"},
		{"no question at all", "HOLM_MAX_ASKS_PER_MINUTE", "0", "want a number from 1"},
		{"no size", "HOLM_MAX_BODIES", "much", "HOLM_MAX_BODIES: want a size"},
		{"small", "HOLM_MAX_BODIES_PER_KEY", "1", "at least 1KiB"},
		{"negative", "HOLM_MAX_ARGS", "-1MiB", "HOLM_MAX_ARGS: want a size"},
		{"short", "HOLM_BODY_TIME", "10ms", "from 1s to 10m"},
		{"negative", "HOLM_REALTIME", "-1s", "want a duration"},
		{"long", "HOLM_REALTIME", "1h", "at most 10m"},
		{"negative", "HOLM_DIGEST_WINDOW", "-1s", "want a duration"},
		{"long", "HOLM_DIGEST_WINDOW", "2m", "at most 1m"},
		{"no zone", "HOLM_TIME_ZONE", "Mars/Phobos", "want a name of a time zone"},
		{"telegram mode", "HOLM_TELEGRAM_MODE", "webhook", "HOLM_TELEGRAM_TOKEN: is missing"},
		{"telegram mode", "HOLM_TELEGRAM_MODE", "pigeon", "want polling or webhook"},
		{"slack mode", "HOLM_SLACK_MODE", "events", "HOLM_SLACK_BOT_TOKEN: is missing"},
		{"slack mode", "HOLM_SLACK_MODE", "pigeon", "want socket or events"},
		{"slack without a socket", "HOLM_SLACK_BOT_TOKEN", "xoxb", "HOLM_SLACK_APP_TOKEN: is missing"},
		{"slack without a bot", "HOLM_SLACK_APP_TOKEN", "xapp", "HOLM_SLACK_BOT_TOKEN: is missing"},
		{"slack secret alone", "HOLM_SLACK_SIGNING_SECRET", "s", "HOLM_SLACK_BOT_TOKEN: is missing"},
		{"no file", "HOLM_CONFIG", "/nowhere/holm.yaml", "no such file"},
		{"no secret file", "HOLM_ADMIN_TOKEN_FILE", "/nowhere/token", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clean(t)
			t.Setenv(c.variable, c.value)
			refused(t, c.want)
		})
	}
}

// refused expects Load to fail with an Error that says want in one line.
func refused(t *testing.T, want string) {
	t.Helper()
	_, err := settings.Load(settings.Flags{})
	if own := new(settings.Error); !errors.As(err, &own) {
		t.Fatalf("got %v, want a settings.Error", err)
	}
	if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %q, want %q in one line", err, want)
	}
}

func TestRefusedFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown", "listn: x", "line 1: there is no setting listn"},
		{"unknown inside", "slack:\n  signing_secrets: s3cret-value", "line 2: there is no setting signing_secrets"},
		{"unsigned events", "slack: {mode: events, bot_token: s3cret-value, app_token: b}", "HOLM_SLACK_SIGNING_SECRET: is missing"},
		{"list", "admin_token: [s3cret-value]", "line 1: this value cannot be used"},
		{"no yaml", "admin_token: 's3cret-value\n", "not YAML"},
		{"no duration", "hold: s3cret-value", "line 1: this value cannot be used"},
		{"two documents", "agent: a\n---\nagent: b\n", "more than one document"},
		{"owners", "owners: {a: b}", "list of identities"},
		{"owner", "owners: [nobody]", "not an identity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, filepath.Join(clean(t), "holm.yaml"), c.text)
			refused(t, c.want)
			if _, err := settings.Load(settings.Flags{}); strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q shows the value", err)
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	write(t, filepath.Join(clean(t), "holm.yaml"), "# nothing yet\n")
	if s := load(t); s.Agent != "main" {
		t.Errorf("agent = %q", s.Agent)
	}
}

func TestSecretAndItsFile(t *testing.T) {
	clean(t)
	t.Setenv("HOLM_SECRET_KEY", "given-directly-and-too")
	t.Setenv("HOLM_SECRET_KEY_FILE", "/some/file")
	refused(t, "set one of them")
}

func TestPublic(t *testing.T) {
	for listening, want := range map[string]string{
		"127.0.0.1:4767": "http://127.0.0.1:4767",
		"[::]:80":        "http://localhost:80",
		"0.0.0.0:80":     "http://localhost:80",
	} {
		if got := (settings.Settings{}).Public(listening); got != want {
			t.Errorf("Public(%q) = %q, want %q", listening, got, want)
		}
	}
	if got := (settings.Settings{PublicURL: "https://h"}).Public("127.0.0.1:1"); got != "https://h" {
		t.Errorf("configured: %q", got)
	}
}

func TestTelegramWebhookNeedsAnAddressToCall(t *testing.T) {
	for _, c := range []struct{ public, api, want string }{
		{"", "", "HOLM_PUBLIC_URL"},
		{"http://holm.example", "", "https"},
		{"https://holm.example:9443", "", "port 443"},
		{"https://holm.example", "", ""},
		{"https://holm.example:8443", "", ""},
		{"http://holm:4767", "http://telegram-bot-api:8081", ""},
	} {
		t.Run(c.public+" "+c.api, func(t *testing.T) {
			clean(t)
			t.Setenv("HOLM_TELEGRAM_TOKEN", "1:abc")
			t.Setenv("HOLM_TELEGRAM_MODE", "webhook")
			t.Setenv("HOLM_PUBLIC_URL", c.public)
			t.Setenv("HOLM_TELEGRAM_API_URL", c.api)
			if c.want != "" {
				refused(t, c.want)
			} else if s := load(t); s.Telegram.Mode != settings.TelegramWebhook {
				t.Errorf("mode %q", s.Telegram.Mode)
			}
		})
	}
}
