package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"holm/gateway/upstream"
	"holm/internal/caught"
	"holm/internal/servers"
	"holm/policy"
	"holm/policy/rulestore"
)

// catalogue is what a caller may see and call. A snapshot of it is immutable
// and belongs to one principal, one policy version and one state of the
// upstreams' lists; a call is looked up in the same snapshot that a list is
// rendered from, so what is not listed is not callable.
type catalogue struct {
	rules     *rulestore.Store
	upstreams *upstreams
	builtins  map[string]*Builtin

	mu    sync.Mutex
	cache map[string]*snapshot
}

// maxSnapshots bounds the memory of the cache; beyond it starts anew.
const maxSnapshots = 4096

// listPatience is how long a list waits for servers that are starting, and a
// call for its own server; after it what is known has to do.
const listPatience = 10 * time.Second

// entry is one tool as one caller may call it.
type entry struct {
	// Exposed is the name in lists; Key is the policy resource.
	Exposed, Key string
	Server       string
	Tool         string
	// HasOutputSchema forbids structured content of our own in results.
	HasOutputSchema bool
	// maps say which arguments name files and commands.
	maps []servers.Map
	// made is how the tool is made and served.
	made definition
	raw  json.RawMessage
}

type snapshot struct {
	policyVersion int64
	generation    int64
	set           *policy.Set
	byName        map[string]*entry
	entries       []*entry // by name
	// list is the rendered array of tools.
	list json.RawMessage
}

// list gives the snapshot for a principal once each server has told its tools
// or is known to be down.
func (c *catalogue) list(ctx context.Context, p policy.Principal) (*snapshot, error) {
	c.settle(ctx)
	return c.get(ctx, p)
}

// get gives the snapshot of what is known now. It waits for no server, so that
// one that is slow to start holds up nobody else's calls.
func (c *catalogue) get(ctx context.Context, p policy.Principal) (*snapshot, error) {
	rules, err := c.rules.Get(ctx, p.AgentID)
	if err != nil {
		return nil, err
	}
	key := strings.Join(append([]string{p.AgentID, p.UserID, string(p.Role)}, p.Circles...), "\x00")
	c.upstreams.follow(ctx)
	// Read before the lists: what comes in between makes the snapshot stale.
	generation := c.upstreams.generation.Load()
	c.mu.Lock()
	known := c.cache[key]
	c.mu.Unlock()
	if known != nil && known.policyVersion == rules.Version && known.generation == generation {
		return known, nil
	}
	s := c.build(c.upstreams.all(ctx), p, rules)
	s.generation = generation
	c.mu.Lock()
	if c.cache == nil || len(c.cache) >= maxSnapshots {
		c.cache = map[string]*snapshot{}
	}
	c.cache[key] = s
	c.mu.Unlock()
	return s, nil
}

func (c *catalogue) build(clients []*runningClient, p policy.Principal, rules *rulestore.Snapshot) *snapshot {
	s := &snapshot{policyVersion: rules.Version, set: rules.Set, byName: map[string]*entry{}}
	var entries []*entry
	for _, client := range clients {
		for _, t := range client.Known() {
			key := servers.ResourceKey(client.server.Name, t.Name)
			if !rules.Listed(p, key, client.server.Name) {
				continue
			}
			e, err := client.entry(key, t)
			if err != nil || s.byName[e.Exposed] != nil {
				continue // one broken or ambiguous definition must not hide the others
			}
			s.byName[e.Exposed] = e
			entries = append(entries, e)
		}
	}
	for name, b := range c.builtins {
		if e, err := b.entry(); err == nil && rules.Listed(p, name, "") {
			s.byName[name] = e
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(a.Exposed, b.Exposed) })
	s.entries, s.list = entries, render(entries)
	return s
}

// settle asks all servers at once for their lists and waits for the answers.
func (c *catalogue) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	var all sync.WaitGroup
	for _, client := range c.upstreams.all(ctx) {
		caught.Go(&all, c.upstreams.log, "list of tools", func() { _, _ = client.Tools(ctx) }) // one that fails has nothing to list
	}
	all.Wait()
}

func (c *runningClient) entry(key string, t upstream.Tool) (*entry, error) {
	e := &entry{
		Exposed: exposedName(key), Key: key, Server: c.server.Name, Tool: t.Name,
		maps: c.server.MapsOf(t.Name), made: c.made.of(c.server, t),
	}
	var err error
	e.raw, e.HasOutputSchema, err = renamed(t.Raw, e.Exposed)
	return e, err
}

// entry has a plain name: those of upstream tools begin with mcp__.
func (b *Builtin) entry() (*entry, error) {
	raw, err := b.definition()
	return &entry{Exposed: b.Name, Key: b.Name, Tool: b.Name, raw: raw}, err
}

// concealed gives the tool of a caller who has been told of it before, whether or
// not they may see it now.
func (c *catalogue) concealed(ctx context.Context, p policy.Principal, name string) (*entry, *snapshot, error) {
	s, err := c.get(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if b := c.builtins[name]; b != nil {
		e, err := b.entry()
		return e, s, err
	}
	for _, client := range c.upstreams.all(ctx) {
		for _, t := range client.Known() {
			if key := servers.ResourceKey(client.server.Name, t.Name); exposedName(key) == name {
				e, err := client.entry(key, t)
				return e, s, err
			}
		}
	}
	return nil, nil, &UnknownToolError{Name: name}
}

// modelName is what the common model providers accept as a tool's name.
var (
	modelName    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	notModelName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	// shortened is the end of the names that exposedName makes: the key behind one
	// cannot be told from it.
	shortened = regexp.MustCompile(`_[0-9a-f]{8}$`)
)

// exposedName keeps a usable name and otherwise makes one that ends in a hash
// of the whole: stable under any order, and distinct for distinct keys.
func exposedName(key string) string {
	if modelName.MatchString(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	clean := notModelName.ReplaceAllString(key, "_")
	return clean[:min(len(clean), 55)] + "_" + hex.EncodeToString(sum[:4])
}

// renamed puts another name into a tool object and leaves every other byte as
// the server sent it.
func renamed(raw json.RawMessage, name string) (out json.RawMessage, hasOutputSchema bool, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false, errors.New("a tool is no JSON object")
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, false, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false, err
		}
		switch key {
		case "name":
			end := int(d.InputOffset())
			out = slices.Concat(raw[:end-len(value)], quoted, raw[end:])
		case "outputSchema":
			hasOutputSchema = string(value) != "null"
		}
	}
	if out == nil {
		return nil, false, errors.New("a tool has no name")
	}
	return out, hasOutputSchema, nil
}

func render(entries []*entry) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(e.raw)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// find gives the tool a caller named. One that the caller may not see is
// answered exactly like one that never was.
func (c *catalogue) find(ctx context.Context, p policy.Principal, name string) (*entry, *snapshot, error) {
	s, err := c.get(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if e := s.byName[name]; e != nil {
		return e, s, nil
	}
	var listErr error
	client, visible := c.unsettled(ctx, p, s, name)
	if client != nil {
		waiting, cancel := context.WithTimeout(ctx, listPatience)
		defer cancel()
		_, listErr = client.Tools(waiting)
	}
	// A list may have come since the first look.
	if s, err = c.get(ctx, p); err != nil {
		return nil, nil, err
	}
	if e := s.byName[name]; e != nil {
		return e, s, nil
	}
	if client != nil && visible {
		if state := client.Health().State; listErr != nil || state != upstream.Up {
			return nil, nil, &UnavailableError{Server: client.server.Name, Err: fmt.Errorf("the server is %s", state)}
		}
	}
	return nil, nil, &UnknownToolError{Name: name}
}

// unsettled is the server on which name may be a tool for this principal
// although no list that is known has it, because the server has told none yet
// or is not up; nil when there is no such server. visible is false when only
// the server's list can tell whether the principal may know of the tool.
func (c *catalogue) unsettled(ctx context.Context, p policy.Principal, s *snapshot, name string) (client *runningClient, visible bool) {
	for _, client := range c.upstreams.all(ctx) {
		server := client.server.Name
		prefix := servers.ResourceKey(server, "")
		if !strings.HasPrefix(name, prefix) || client.Known() != nil && client.Health().State == upstream.Up {
			continue
		}
		// The second and third name are no server's. Where they would be listed, a
		// deny of the first must not show by another answer.
		visible := s.set.Listed(p, name, server) || s.set.Listed(p, name+"~", server) || s.set.Listed(p, prefix+"~", server)
		if visible || shortened.MatchString(name) {
			return client, visible
		}
	}
	return nil, false
}
