package settings

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"holm/internal/db/embedded"
)

// Load reads the settings of this process. Flags win over variables, variables
// over the file. What is unknown or cannot be used is an *Error.
func Load(flags Flags) (Settings, error) {
	s, err := load(flags)
	return s, flags.asTyped(err)
}

func load(flags Flags) (Settings, error) {
	variables, err := variables(os.Environ(), flags)
	if err != nil {
		return Settings{}, err
	}
	// Defaults of numbers stand here, so that a 0 that somebody wrote is seen.
	s := Settings{Realtime: DefaultRealtime, DigestWindow: DefaultDigestWindow, MaxOpenPerSession: 10, MaxOpenPerRequester: 20, Limits: DefaultLimits}
	if err := s.readFile(variables); err != nil {
		return Settings{}, err
	}
	if err := s.readVariables(variables); err != nil {
		return Settings{}, err
	}
	if err := s.setDefaults(); err != nil {
		return Settings{}, err
	}
	return s, s.check()
}

// secrets may be given as a file, by the same name and _FILE.
var secrets = []string{
	"HOLM_ADMIN_TOKEN", "HOLM_SECRET_KEY", "HOLM_DATABASE_URL", "HOLM_AGENT_KEY",
	"HOLM_TELEGRAM_TOKEN", "HOLM_SLACK_BOT_TOKEN", "HOLM_SLACK_APP_TOKEN", "HOLM_SLACK_SIGNING_SECRET",
	"HOLM_DISCORD_TOKEN",
}

const (
	configVariable = "HOLM_CONFIG"
	fileSuffix     = "_FILE"
)

// variables gives every setting that the environment or a flag names, with
// secret files read. An empty one counts as not given.
func variables(environ []string, flags Flags) (map[string]string, error) {
	found := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "HOLM_") && !strings.HasPrefix(name, "HOLM_TEST_") && value != "" {
			found[name] = value
		}
	}
	if err := checkNames(found); err != nil {
		return nil, err
	}
	for _, name := range secrets {
		if err := readSecretFile(found, name); err != nil {
			return nil, err
		}
	}
	maps.Copy(found, flags.values)
	if flags.config != "" {
		found[configVariable] = flags.config
	}
	return found, nil
}

func checkNames(found map[string]string) error {
	known := []string{configVariable}
	for _, field := range fields() {
		known = append(known, field.Key)
	}
	for _, name := range secrets {
		known = append(known, name+fileSuffix)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(known, name) {
			return unknown(name, known)
		}
	}
	return nil
}

func fields() []env.FieldParams {
	params, err := env.GetFieldParams(&Settings{})
	if err != nil {
		panic(err) // the tags of Settings are wrong
	}
	return params
}

func readSecretFile(found map[string]string, name string) error {
	path := found[name+fileSuffix]
	if path == "" {
		return nil
	}
	if found[name] != "" {
		return unusable(name+fileSuffix, "%s is set as well; set one of them", name)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return unusable(name+fileSuffix, "%v", err)
	}
	found[name] = strings.TrimSpace(string(text))
	if found[name] == "" {
		return unusable(name+fileSuffix, "%s is empty", path)
	}
	return nil
}

func (s *Settings) readVariables(variables map[string]string) error {
	err := env.ParseWithOptions(s, env.Options{Environment: variables})
	if own := new(Error); errors.As(err, &own) {
		return own
	}
	if mistyped := (env.ParseError{}); errors.As(err, &mistyped) {
		field, _ := reflect.TypeFor[Settings]().FieldByName(mistyped.Name)
		if own := new(Error); errors.As(mistyped.Err, &own) {
			return &Error{Setting: cmp.Or(own.Setting, field.Tag.Get("env")), Message: own.Message}
		}
		return unreadable(field)
	}
	if err != nil {
		return unusable("settings", "%v", err)
	}
	return nil
}

// unreadable says what a field that is no text wants; its variable has a name that
// people typed, the field has not.
func unreadable(field reflect.StructField) *Error {
	want := "it cannot be used here"
	switch field.Type {
	case reflect.TypeFor[time.Duration]():
		want = "want a span of time such as 45s or 2m"
	case reflect.TypeFor[int]():
		want = "want a whole number"
	case reflect.TypeFor[bool]():
		want = "want true or false"
	}
	return unusable(cmp.Or(field.Tag.Get("env"), "settings"), "the value cannot be read: %s", want)
}

// dataDir gives the folder in absolute form, or the default one.
func dataDir(configured string) (string, error) {
	if configured == "" {
		dir, err := embedded.DefaultDataDir()
		if err != nil {
			return "", unusable("HOLM_DATA_DIR", "%v", err)
		}
		return dir, nil
	}
	dir, err := filepath.Abs(configured)
	if err != nil {
		return "", unusable("HOLM_DATA_DIR", "%v", err)
	}
	return dir, nil
}
