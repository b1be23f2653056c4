package steerholm

import (
	"fmt"
	"io/fs"
	"slices"

	"holm/policy"
)

// Keyring looks up the hash that Steerholm stored under the service "steerholm"
// and the agent's name. It returns an empty text when there is none.
type Keyring func(agent string) (hash string, err error)

// Import is what a data folder holds, in Holm's words. Names are valid in Holm and
// unique; lists are ordered by Steerholm's names.
type Import struct {
	Schema   int
	Servers  []Server
	Agents   []Agent
	Findings []Finding
}

// Server is an upstream. Env and Headers hold secrets: they go into the store of
// servers and nowhere else.
type Server struct {
	Name string
	// Was is the name in Steerholm.
	Was     string
	Command []string
	URL     string
	Env     map[string]string
	Headers map[string]string
}

// Agent is a caller with its key and its rows.
type Agent struct {
	Name string
	// Was is the name in Steerholm.
	Was string
	// Key is nil when no usable hash was found; the agent then needs a new key.
	Key *Key
	// Rows allow, for anybody who comes with a key of this agent. They have no ids.
	Rows []policy.Row
}

// Key is an access key that goes on working: steer_sk_ and 32 letters or digits.
type Key struct {
	// Prefix is the beginning of the key's text, steer_sk_ and six characters. It
	// finds the key; two keys may share one.
	Prefix string
	// Hash is the bcrypt hash of the key's whole text.
	Hash string
}

// Read translates a Steerholm data folder, usually ~/.steerholm. keyring may be nil
// when there is none to ask; agents of schemas 0 and 1 then have no keys.
//
// Open dir so that symbolic links cannot leave it (os.Root). The errors are about
// the folder as a whole: no Steerholm state, a schema that is not known, an
// unfinished migration, a config.json that cannot be read. What concerns one
// server, agent or rule becomes a Finding.
func Read(dir fs.FS, keyring Keyring) (*Import, error) {
	s, err := readState(dir)
	if err != nil {
		return nil, fmt.Errorf("read Steerholm state: %w", err)
	}
	t := &translator{state: s, keyring: keyring, out: &Import{Schema: s.schema}}
	t.servers()
	t.agents()
	return t.out, nil
}

// translator fills one Import.
type translator struct {
	state   *state
	keyring Keyring
	out     *Import
	// serverNames gives the name in Holm of a server by the text that policies
	// know it under: its name in schema 0, its id afterwards.
	serverNames map[string]string
}

func (t *translator) find(kind Kind, where, format string, args ...any) {
	t.out.Findings = append(t.out.Findings, Finding{Kind: kind, Where: where, What: fmt.Sprintf(format, args...)})
}

// sortedNames gives the keys of a map in order.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
