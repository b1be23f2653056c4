package bench

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
	"holm/internal/jobs"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

const agent = "bench"

// rig is a gateway as it is served, with policy, audit and database, in front of
// one upstream called "up" all of whose tools everybody may call.
type rig struct {
	pool    *pgxpool.Pool
	keyring *identity.Keyring
	key     string
	url     string
}

func newRig(b *testing.B, upstreamURL string) *rig {
	b.Helper()
	ctx := context.Background()
	r := &rig{pool: dbtest.DB(b)}
	must(b, db.InTx(ctx, r.pool, r.seed))
	r.serve(b, upstreamURL)
	return r
}

// seed stores the agent, its key and the row that allows.
func (r *rig) seed(tx pgx.Tx) (err error) {
	ctx := context.Background()
	if _, err = identity.CreateAgent(ctx, tx, agent, "bench"); err != nil {
		return err
	}
	if r.key, err = identity.CreateKey(ctx, tx, agent, "", nil, "bench"); err != nil {
		return err
	}
	_, err = rulestore.Put(ctx, tx, policy.Row{
		AgentID: agent, ResourceType: policy.TypeTool, ResourceKey: "mcp__up__*",
		Effect: policy.Allow, Grants: []policy.Grant{policy.Any()},
	}, "bench")
	return err
}

func (r *rig) serve(b *testing.B, upstreamURL string) {
	b.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	keeper, err := secret.New("a secret key for benchmarks")
	must(b, err)
	hub := wake.New(r.pool, log)
	rules := rulestore.New(r.pool, hub, log)
	r.keyring = identity.NewKeyring(r.pool)
	known := &servers.Store{Pool: r.pool, Hub: hub, Secret: keeper}
	_, err = known.Add(context.Background(), servers.Server{Name: "up", URL: upstreamURL}, "bench")
	must(b, err)
	queue, err := jobs.New(jobs.Config{Pool: r.pool, Hub: hub, Log: log})
	must(b, err)
	asked := approvals.New(approvals.Config{Pool: r.pool, Hub: hub, Rules: rules, Jobs: queue, Log: log,
		MaxOpenPerSession: 1 << 30, MaxOpenPerRequester: 1 << 30, MaxAsksPerMinute: 1 << 30})
	g, err := gateway.New(gateway.Config{
		Pool: r.pool, Hub: hub, Rules: rules, Approvals: asked, Keyring: r.keyring, Servers: known, Log: log, Version: "bench",
	})
	must(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = hub.Run(ctx) })
	parts.Go(func() { _ = rules.Run(ctx) })
	parts.Go(func() { _ = r.keyring.Run(ctx, hub) })
	parts.Go(func() { _ = g.Run(ctx) })
	server := httptest.NewServer(g)
	r.url = server.URL
	b.Cleanup(func() {
		server.CloseClientConnections()
		cancel()
		server.Close()
		parts.Wait()
	})
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
