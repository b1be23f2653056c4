package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"holm/approvals"
	"holm/gateway/upstream"
	"holm/internal/fault"
	"holm/internal/servers"
	"holm/policy"
)

// definition is how a server's tool is made and served: what was approved of it is
// nothing to another. Holm's own tools have none.
type definition struct {
	// parts are approvals.Basis.Made; digest is one text for all of them.
	parts  map[string]string
	digest string
}

// definitions keeps those of one server's tools, by the digest of what it lists.
type definitions struct {
	mu       sync.Mutex
	byDigest map[string]definition
}

// maxDefinitions is twice what a list may hold; a server that goes on changing its
// list is read anew.
const maxDefinitions = 20_000

func (d *definitions) of(s servers.Server, t upstream.Tool) definition {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.byDigest[t.Digest]
	if ok {
		return known
	}
	if d.byDigest == nil || len(d.byDigest) >= maxDefinitions {
		d.byDigest = map[string]definition{}
	}
	parts := partsOf(s, t)
	known = definition{parts, approvals.MadeDigest(parts)}
	d.byDigest[t.Digest] = known
	return known
}

// partsOf names the parts in words for people.
func partsOf(s servers.Server, t upstream.Tool) map[string]string {
	parts := map[string]string{approvals.TheServer: fmt.Sprint(s.CreatedAt.UnixMicro())}
	for part, version := range s.Runs {
		parts["the server's "+part] = fmt.Sprint(version)
	}
	listed := object(t.Raw)
	for name, words := range map[string]string{
		"description": "the tool's description", "inputSchema": "the tool's input schema",
		"outputSchema": "the tool's output schema", "annotations": "the tool's annotations",
	} {
		if value, ok := listed[name]; ok {
			parts[words] = canonicalDigest(value)
		}
	}
	return parts
}

// definition gives that of a tool of a registered server, which is waited for as a
// list of its tools is. It is Unavailable while the server has told no list: whether
// what was approved still stands is not known then. A tool that is not on the list
// has the server's parts alone, and one of a server that Holm does not have none.
func (u *upstreams) definition(ctx context.Context, server, tool string) (definition, error) {
	u.follow(ctx)
	client := u.get(server)
	if client == nil {
		return definition{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	tools, err := client.Tools(ctx)
	if err != nil {
		return definition{}, fault.New(fault.Unavailable, "server_unavailable",
			"server %q has not listed its tools, so it is not known whether what was approved still stands; ask again later", server)
	}
	return client.madeOf(tools, tool), nil
}

func (c *runningClient) madeOf(tools []upstream.Tool, name string) definition {
	for _, t := range tools {
		if t.Name == name {
			return c.made.of(c.server, t)
		}
	}
	return c.made.of(c.server, upstream.Tool{})
}

// Definition is policy.Request.Definition of a server's tool as far as it is known
// without waiting.
func (g *Gateway) Definition(server, key string) string {
	client := g.upstreams.get(server)
	if client == nil {
		return ""
	}
	return client.madeOf(client.Known(), toolOn(server, key)).digest
}

// canonicalDigest is the same for every spelling of one JSON value. A value that
// readers could take in two ways has the digest of its bytes.
func canonicalDigest(value json.RawMessage) string {
	text := []byte(value)
	if args, err := policy.ParseArgs(append(append([]byte(`{"value":`), value...), '}')); err == nil {
		text = args.Canonical()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
