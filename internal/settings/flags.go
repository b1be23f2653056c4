package settings

import (
	"errors"

	"github.com/spf13/pflag"
)

// Flags are the settings that a command line gave. The zero Flags gave none.
// Secrets have no flags: other users of a machine see command lines.
type Flags struct {
	config string
	values map[string]string
}

// flagNames are the flags and the variables whose value they replace.
var flagNames = []struct{ flag, variable, usage string }{
	{"data-dir", "HOLM_DATA_DIR", "folder of the database, the secret files and holm.yaml"},
	{"listen", "HOLM_LISTEN", "HTTP address, default " + DefaultListen},
	{"public-url", "HOLM_PUBLIC_URL", "address in links, default made from --listen"},
	{"database-url", "HOLM_DATABASE_URL", "PostgreSQL to use, default one of Holm's own"},
	{"pg-bin", "HOLM_PG_BIN", "folder of initdb and postgres, default searched"},
	{"agent", "HOLM_AGENT", "agent of the channels that are set up here, default " + DefaultAgent},
	{"hold", "HOLM_HOLD", "how long a blocked call waits for its answer, default 45s"},
	{"realtime", "HOLM_REALTIME", "how long an owner is asked in their own MCP client first, default 2m, 0s for off"},
	{"owners", "HOLM_OWNERS", "identities that become owners, e.g. telegram:123456,slack:T01/U02"},
}

// AddFile registers --config and --data-dir, which every command takes.
func (f *Flags) AddFile(set *pflag.FlagSet) {
	set.StringVar(&f.config, "config", "", "settings file, default holm.yaml in the data folder")
	f.add(set, 0, 1)
}

// AddServer registers the settings of a server.
func (f *Flags) AddServer(set *pflag.FlagSet) { f.add(set, 1, len(flagNames)) }

func (f *Flags) add(set *pflag.FlagSet, from, to int) {
	for _, name := range flagNames[from:to] {
		set.Var(&flagValue{flags: f, variable: name.variable}, name.flag, name.usage)
	}
}

// flagValue notes a flag's text; Load reads it as it reads variables.
type flagValue struct {
	flags    *Flags
	variable string
}

func (v *flagValue) Set(text string) error {
	if v.flags.values == nil {
		v.flags.values = map[string]string{}
	}
	v.flags.values[v.variable] = text
	return nil
}

func (v *flagValue) String() string {
	if v.flags == nil {
		return ""
	}
	return v.flags.values[v.variable]
}

func (v *flagValue) Type() string { return "string" }

// asTyped names a setting by its flag where the command line gave it.
func (f Flags) asTyped(err error) error {
	own := new(Error)
	if !errors.As(err, &own) {
		return err
	}
	for _, name := range flagNames {
		if _, given := f.values[name.variable]; given && own.Setting == name.variable {
			return &Error{Setting: "--" + name.flag, Message: own.Message}
		}
	}
	return err
}
