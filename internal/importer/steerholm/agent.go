package steerholm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// agentEntry is an agent in config.json.
type agentEntry struct {
	Name      string  `json:"name" need:""`
	ID        *string `json:"id"`
	KeyPrefix string  `json:"key_prefix" need:""`
	KeyHash   *string `json:"key_hash"` // schema 2
}

func (t *translator) agents() {
	names := sortedNames(t.state.agents)
	given, ids := agentRule.assign(names), map[string]string{}
	for _, was := range names {
		where := "agent " + was
		entry, err := decodeAgent(was, t.state.agents[was])
		if err != nil {
			t.find(LeftOut, where, "%v", err)
			continue
		}
		document := entry.document(t.state.schema)
		if other, ok := ids[document]; ok {
			t.find(LeftOut, where, "has the same id as %s", other)
			continue
		}
		ids[document] = was
		a := Agent{Name: given[was], Was: was}
		if a.Name != was {
			t.find(Renamed, where, "is called %s in Holm", a.Name)
		}
		a.Key = t.key(entry, where)
		a.Rows = t.rowsOf(a, document)
		t.out.Agents = append(t.out.Agents, a)
	}
	t.unclaimed(ids)
}

func decodeAgent(was string, raw json.RawMessage) (agentEntry, error) {
	var entry agentEntry
	if err := decode(raw, &entry); err != nil {
		return entry, err
	}
	if entry.Name != was {
		return entry, fmt.Errorf("it also calls itself %q", entry.Name)
	}
	return entry, nil
}

// document is the name of the agent's policy file. An agent of a later schema
// without an id has none, and the text returned is no file's name.
func (a agentEntry) document(schema int) string {
	if schema == 0 {
		return a.Name
	}
	if a.ID != nil && *a.ID != "" {
		return *a.ID
	}
	return "without an id/" + a.Name
}

const (
	keyScheme = "steer_sk_"
	// maxCost bounds what one check of a key may take: 14 is about a second, and
	// Steerholm uses 12.
	maxCost = 14
)

// shownPrefix is what Steerholm keeps of a key's text for display: 15 characters
// and three dots.
var shownPrefix = regexp.MustCompile(`^steer_sk_[A-Za-z0-9]{6}\.\.\.$`)

// key finds the agent's hash, or says why the agent needs a new key.
func (t *translator) key(entry agentEntry, where string) *Key {
	hash, err := t.hash(entry)
	switch {
	case err != nil:
		t.find(LeftOut, where, "its key: its hash in the keyring cannot be told: %v", err)
	case hash == "":
		t.find(LeftOut, where, "its key: no hash was found, so it needs a new key")
	case !shownPrefix.MatchString(entry.KeyPrefix):
		t.find(LeftOut, where, "its key: key_prefix is not %s and six characters, so the key could not be found again", keyScheme)
	default:
		if cost, err := bcrypt.Cost([]byte(hash)); err != nil || cost > maxCost {
			t.find(LeftOut, where, "its key: the hash is no bcrypt hash of a cost up to %d", maxCost)
			return nil
		}
		return &Key{Prefix: strings.TrimSuffix(entry.KeyPrefix, "..."), Hash: hash}
	}
	return nil
}

func (t *translator) hash(entry agentEntry) (string, error) {
	if t.state.schema >= 2 {
		// What the keyring still holds from before may be of a key that was
		// replaced since.
		if entry.KeyHash == nil {
			return "", nil
		}
		return *entry.KeyHash, nil
	}
	if t.keyring == nil {
		return "", nil
	}
	// Some keyrings do not tell letters by their case.
	for other := range t.state.agents {
		if other != entry.Name && strings.EqualFold(other, entry.Name) {
			return "", fmt.Errorf("it may hold the key of %s under the same name", other)
		}
	}
	return t.keyring(entry.Name)
}
