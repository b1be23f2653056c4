package gateway

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holm/gateway/upstream"
	"holm/internal/caught"
	"holm/internal/servers"
	"holm/internal/wake"
	"holm/policy"
)

// upstreams holds one client for each registered server and follows changes of
// the registration.
type upstreams struct {
	store   *servers.Store
	hub     *wake.Hub
	log     *slog.Logger
	version string

	// generation counts changes of any list of tools.
	generation atomic.Int64

	// seen is how many changes of this process are followed; -1 before the first
	// look at the table.
	seen atomic.Int64

	mu      sync.Mutex
	clients map[string]*runningClient
	looked  chan struct{} // closed at the next look
}

type runningClient struct {
	*upstream.Client
	server servers.Server
	made   definitions
	stop   context.CancelFunc
	ended  chan struct{}
}

func newUpstreams(store *servers.Store, hub *wake.Hub, log *slog.Logger, version string) *upstreams {
	u := &upstreams{store: store, hub: hub, log: log, version: version,
		clients: map[string]*runningClient{}, looked: make(chan struct{})}
	u.seen.Store(-1)
	return u
}

// run keeps the clients in step with the table until ctx ends.
func (u *upstreams) run(ctx context.Context) {
	waiter := u.hub.Wait(servers.Changed)
	defer waiter.Close()
	defer u.stopAll()
	for {
		u.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-waiter.C:
		case <-time.After(5 * time.Second):
		}
	}
}

// look follows what is registered now. One that fails counts as well once there
// was another: nobody waits for a database that is down.
func (u *upstreams) look(ctx context.Context) {
	changes := u.store.Changes()
	err := u.sync(ctx)
	if err != nil && ctx.Err() == nil {
		u.log.Warn("the registered servers could not be read", "error", err)
	}
	if err != nil && u.seen.Load() < 0 {
		return
	}
	u.seen.Store(changes)
	u.mu.Lock()
	close(u.looked)
	u.looked = make(chan struct{})
	u.mu.Unlock()
}

// follow waits until the clients are in step with the table and with every change
// that this process has made.
func (u *upstreams) follow(ctx context.Context) {
	for !u.inStep() {
		u.mu.Lock()
		looked := u.looked
		u.mu.Unlock()
		if u.inStep() {
			return // since before looked was read
		}
		select {
		case <-looked:
		case <-ctx.Done():
			return
		}
	}
}

func (u *upstreams) inStep() bool { return u.seen.Load() >= u.store.Changes() }

func (u *upstreams) sync(ctx context.Context) error {
	list, err := u.store.List(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]servers.Server{}
	for _, s := range list {
		wanted[s.Name] = s
	}
	u.mu.Lock()
	var gone []*runningClient
	changed := false
	for name, c := range u.clients {
		if s, ok := wanted[name]; !ok || !s.CreatedAt.Equal(c.server.CreatedAt) || s.Version != c.server.Version {
			gone = append(gone, c)
			delete(u.clients, name)
			changed = true
		}
	}
	for name, s := range wanted {
		if u.clients[name] == nil {
			changed = u.start(ctx, s) || changed
		}
	}
	u.mu.Unlock()
	if changed {
		u.generation.Add(1)
	}
	for _, c := range gone {
		c.stop()
	}
	return nil
}

// start makes and runs a client; u.mu is held.
func (u *upstreams) start(ctx context.Context, s servers.Server) bool {
	client, err := upstream.New(upstream.Server{
		Name: s.Name, Command: s.Command, Env: s.Env, URL: s.URL, Headers: s.Headers,
	}, upstream.Config{
		Logger: u.log, ClientName: "holm", ClientVersion: u.version,
		OnChange: func() { u.generation.Add(1) },
	})
	if err != nil {
		u.log.Error("a registered server cannot be used", "server", s.Name, "error", err)
		return false
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &runningClient{Client: client, server: s, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		_, err := caught.Do(u.log, "upstream "+s.Name, func() (struct{}, error) { return struct{}{}, client.Run(ctx) })
		if caught.Is(err) {
			u.forget(c)
		} else if err != nil {
			u.log.Error("an upstream ended", "server", s.Name, "error", err)
		}
	}()
	u.clients[s.Name] = c
	return true
}

// forget drops a client that panicked; the next look starts another.
func (u *upstreams) forget(c *runningClient) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.clients[c.server.Name] == c {
		delete(u.clients, c.server.Name)
	}
}

func (u *upstreams) stopAll() {
	u.mu.Lock()
	clients := slices.Collect(maps.Values(u.clients))
	u.clients = map[string]*runningClient{}
	u.mu.Unlock()
	for _, c := range clients {
		c.stop()
	}
	for _, c := range clients {
		<-c.ended
	}
}

// all gives the clients by name.
func (u *upstreams) all(ctx context.Context) []*runningClient {
	u.follow(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	clients := slices.Collect(maps.Values(u.clients))
	slices.SortFunc(clients, func(a, b *runningClient) int {
		if a.server.Name < b.server.Name {
			return -1
		}
		return 1
	})
	return clients
}

func (u *upstreams) get(name string) *runningClient {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.clients[name]
}

// tools are all tools that are known, with their schemas.
func (u *upstreams) tools(ctx context.Context) (all []policy.ToolInfo) {
	for _, c := range u.all(ctx) {
		for _, t := range c.Known() {
			info := policy.ToolInfo{Tool: policy.Tool{Name: servers.ResourceKey(c.server.Name, t.Name), Server: c.server.Name}}
			info.InputSchema = object(t.Raw)["inputSchema"]
			all = append(all, info)
		}
	}
	return all
}

// Status is an upstream as operators see it.
type Status struct {
	State upstream.State
	// Error is why it is or last was not up, or what is odd about its list.
	Error  string
	Tools  []string
	Stderr []string
}

// statusPatience is how long a status waits for a server that starts.
const statusPatience = 3 * time.Second

func (u *upstreams) status(ctx context.Context, name string) (Status, bool) {
	c := u.get(name)
	if c == nil {
		return Status{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	tools, err := c.Tools(ctx)
	h := c.Health()
	s := Status{State: h.State, Error: h.LastError, Stderr: h.StderrTail, Tools: []string{}}
	if err == nil && h.State == upstream.Up {
		s.Error = h.Warning
	}
	for _, t := range tools {
		s.Tools = append(s.Tools, t.Name)
	}
	return s, true
}
