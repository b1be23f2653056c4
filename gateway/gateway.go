// Package gateway stands between agents and tools. It owns the MCP endpoint,
// the catalogue of what each caller may see, the way a blocked call waits, and
// the one place where a call goes upstream. What is allowed is decided by
// package policy, what a person answers by package approvals; how a server is
// reached belongs to gateway/upstream.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/caught"
	"holm/internal/identity"
	"holm/internal/intake"
	"holm/internal/servers"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

// Config is what a Gateway needs. Fields without a default are required.
type Config struct {
	Pool      *pgxpool.Pool
	Hub       *wake.Hub
	Rules     *rulestore.Store
	Approvals *approvals.Service
	Keyring   *identity.Keyring
	Servers   *servers.Store
	Log       *slog.Logger
	// Builtins are the tools that Holm itself serves. Optional.
	Builtins []Builtin
	// Version is this program's, for handshakes.
	Version string
	// Hold is how long a blocked call waits for its answer when neither the
	// client nor its name says otherwise; default 45 s, below the 60 s after
	// which many clients give up.
	Hold time.Duration
	// Realtime is how long an owner is asked in a dialog of their own client before
	// the owners get cards; 0 for not at all.
	Realtime time.Duration
	// MaxHolds and MaxHoldsPerKey bound the calls that wait at one time; what
	// comes beyond gets the pending result at once. Defaults 10,000 and 200.
	MaxHolds, MaxHoldsPerKey int
	// Intake bounds what requests hold; all fronts of a process share one. Nil: one
	// with the default bounds.
	Intake *intake.Intake
}

// Gateway is the endpoint and its upstreams. Make it with New, mount it at /mcp,
// and keep Run running.
type Gateway struct {
	Config
	upstreams *upstreams
	catalogue *catalogue
	builtins  map[string]*Builtin
	sessions  *sessionTable
	exchanges *exchanges
	holds     *holds
	claims    *claims
	records   *audit.Batcher
	front     http.Handler
	stateful  http.Handler
	stateless http.Handler

	closing chan struct{}
	running admission
}

// New makes a Gateway.
func New(c Config) (*Gateway, error) {
	if c.Pool == nil || c.Hub == nil || c.Rules == nil || c.Approvals == nil || c.Keyring == nil || c.Servers == nil || c.Log == nil {
		return nil, errors.New("gateway: the configuration is incomplete")
	}
	c.Hold = cmp.Or(c.Hold, 45*time.Second)
	c.MaxHolds = cmp.Or(c.MaxHolds, 10_000)
	c.MaxHoldsPerKey = cmp.Or(c.MaxHoldsPerKey, 200)
	if c.Intake == nil {
		c.Intake = intake.New(intake.Limits{})
	}
	g := &Gateway{
		Config:    c,
		sessions:  newSessionTable(),
		exchanges: newExchanges(),
		holds:     newHolds(c.MaxHolds, c.MaxHoldsPerKey),
		claims:    newClaims(),
		records:   audit.NewBatcher(c.Pool, c.Hub),
		closing:   make(chan struct{}),
	}
	g.upstreams = newUpstreams(c.Servers, c.Hub, c.Log, c.Version)
	var err error
	if g.builtins, err = indexBuiltins(c.Builtins); err != nil {
		return nil, err
	}
	g.catalogue = &catalogue{rules: c.Rules, upstreams: g.upstreams, builtins: g.builtins}
	g.stateful, g.stateless = g.protocolHandlers()
	g.front = caught.Handler(c.Log, "mcp", http.HandlerFunc(g.serveMCP), func(w http.ResponseWriter) {
		writeWireError(w, nil, errFailed)
	})
	return g, nil
}

// Run keeps upstreams, sessions and records until ctx ends. Then waiting calls
// are answered with what is known, running ones get their upstream's drain
// time, and everything is joined.
func (g *Gateway) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	upstreamCtx, stopUpstreams := context.WithCancel(context.WithoutCancel(ctx))
	recordCtx, stopRecords := context.WithCancel(context.WithoutCancel(ctx))
	caught.Keep(&parts, g.Log, "upstreams", func() { g.upstreams.run(upstreamCtx) })
	caught.Keep(&parts, g.Log, "sessions", func() { g.sessions.run(ctx, g.stateful) })

	var records sync.WaitGroup
	caught.Keep(&records, g.Log, "records", func() { g.records.Run(recordCtx) })

	<-ctx.Done()
	close(g.closing)
	stopUpstreams()
	g.running.wait()
	parts.Wait()
	stopRecords()
	records.Wait()
	return nil
}

// Tools are all tools there are, of Holm's own and of the upstreams as far as
// they are known: for whoever writes policy.
func (g *Gateway) Tools(ctx context.Context) []policy.ToolInfo {
	all := g.upstreams.tools(ctx)
	for _, b := range g.Builtins {
		all = append(all, policy.ToolInfo{Tool: policy.Tool{Name: b.Name}, InputSchema: b.Schema})
	}
	return all
}

// serverInfo is how Holm introduces itself to clients.
func (g *Gateway) serverInfo() *mcp.Implementation {
	return &mcp.Implementation{Name: "holm", Title: "Holm", Version: cmp.Or(g.Version, "0")}
}

// ServerStatus tells operators how an upstream does; ok is false for a server
// that this process does not know.
func (g *Gateway) ServerStatus(ctx context.Context, name string) (Status, bool) {
	return g.upstreams.status(ctx, name)
}
