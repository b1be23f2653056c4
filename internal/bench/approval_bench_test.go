//go:build unix

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
	"holm/internal/jobs"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

// desk is an approvals service on a database of its own.
type desk struct {
	url     string
	pool    *pgxpool.Pool
	hub     *wake.Hub
	jobs    *jobs.Client
	service *approvals.Service
	agents  []string
	owners  []string        // of the agents, where they have any
	rules   []rulestore.Row // of the agents
	asked   atomic.Int64
}

// newDesk has agents with one rule each, which ask in turn.
func newDesk(b *testing.B, agents int) *desk {
	b.Helper()
	d := &desk{url: dbtest.URL(b)}
	ctx := context.Background()
	d.pool = openPool(b, d.url)
	must(b, db.InTx(ctx, d.pool, func(tx pgx.Tx) (err error) {
		for i := range agents {
			name := fmt.Sprintf("%s-%d", agent, i)
			if _, err = identity.CreateAgent(ctx, tx, name, "bench"); err != nil {
				return err
			}
			rule, err := rulestore.Put(ctx, tx, policy.Row{
				AgentID: name, ResourceType: policy.TypeTool, ResourceKey: "mcp__up__write",
				Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()},
			}, "bench")
			if err != nil {
				return err
			}
			err = session.Ensure(ctx, tx, session.Session{ID: "written " + name, AgentID: name, Kind: session.API, RequesterID: "somebody"})
			if err != nil {
				return err
			}
			d.agents, d.rules = append(d.agents, name), append(d.rules, rule)
		}
		return nil
	}))
	d.hub, d.jobs, d.service = newProcess(b, d.pool)
	return d
}

func openPool(b *testing.B, url string) *pgxpool.Pool {
	b.Helper()
	config, err := pgxpool.ParseConfig(url)
	must(b, err)
	config.MaxConns = atOnce + 4
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	must(b, err)
	b.Cleanup(pool.Close)
	return pool
}

// newProcess is what one Holm process has of it: a hub that listens, and a service.
func newProcess(b *testing.B, pool *pgxpool.Pool) (*wake.Hub, *jobs.Client, *approvals.Service) {
	b.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	hub := wake.New(pool, log)
	ready := hub.Wait("ready")
	defer ready.Close()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = hub.Run(ctx) })
	b.Cleanup(func() { stop(); running.Wait() })
	<-ready.C
	queue, err := jobs.New(jobs.Config{Pool: pool, Hub: hub, Log: log})
	must(b, err)
	rules := rulestore.New(pool, hub, log)
	return hub, queue, approvals.New(approvals.Config{Pool: pool, Hub: hub, Rules: rules, Jobs: queue, Log: log})
}

// ask puts a question that nobody put before. Five share a session and a
// requester, since open requests of one are few.
func (d *desk) ask() (approvals.Request, error) {
	n := d.asked.Add(1)
	args, err := policy.ParseArgs(fmt.Appendf(nil, `{"path":"/srv/data/file-%d.txt","text":"a line of text"}`, n))
	if err != nil {
		return approvals.Request{}, err
	}
	turn := int(n) % len(d.agents)
	return d.service.Ask(context.Background(), d.call(turn, fmt.Sprintf("user-%d-%d", turn, int(n)/len(d.agents)/5), args))
}

func (d *desk) call(turn int, requester string, args policy.Args) approvals.Call {
	name, rule := d.agents[turn], d.rules[turn]
	return approvals.Call{
		Session:       session.Session{ID: "key:" + requester, AgentID: name, Kind: session.Key, RequesterID: requester},
		RequesterName: "a caller", ResourceType: policy.TypeTool, ResourceKey: "mcp__up__write", Args: args,
		Rule: policy.Row{ID: rule.ID, AgentID: name, ResourceType: policy.TypeTool, ResourceKey: "mcp__up__write", Version: rule.Version},
	}
}

// askMany puts n questions, outside the measured time.
func (d *desk) askMany(b *testing.B, n int) []approvals.Request {
	b.Helper()
	requests := make([]approvals.Request, n)
	together(b, n, func(i int) (err error) {
		requests[i], err = d.ask()
		return err
	})
	return requests
}

func (d *desk) decide(r approvals.Request) error {
	_, err := d.service.Decide(context.Background(), approvals.Decision{
		AgentID: r.AgentID, RequestID: r.ID, Approve: true, Resolution: policy.Single,
		Actor: approvals.Actor{Admin: true, Name: "operator", Via: "api"},
	})
	return err
}

// together does n things, atOnce of them at one time.
func together(b *testing.B, n int, do func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var callers sync.WaitGroup
	for range min(atOnce, n) {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// manyAgents is how many agents ask and are decided about in turn.
const manyAgents = 16

// warmth is how often each thing is done before it is measured, so that every
// connection has learned and planned its statements as it will have in a program
// that runs for days.
const warmth = 20 * atOnce

// BenchmarkAsk measures a new question with its event, audit record and jobs. The
// reference is a transaction that inserts some row, an audit record and one job;
// same-writes is one that stores just what a question stores, one statement after
// the other, and reads and checks nothing.
func BenchmarkAsk(b *testing.B) {
	one, d := newDesk(b, 1), newDesk(b, manyAgents)
	ask := func(d *desk) func(int) error {
		return func(int) error { _, err := d.ask(); return err }
	}
	beside(b,
		measured{"reference", func(int) error { return d.bareAsk() }},
		measured{"same-writes", func(int) error { return d.writeAsk() }},
		measured{"agents=1", ask(one)},
		measured{"agents=16", ask(d)})
}

// measured is something done many times.
type measured struct {
	name string
	do   func(i int) error
}

// beside measures things beside the first two of them.
func beside(b *testing.B, list ...measured) {
	rates := map[string]float64{}
	for _, m := range list {
		together(b, warmth, m.do)
		b.Run(m.name, func(b *testing.B) {
			b.ResetTimer()
			together(b, b.N, m.do)
			rates[m.name] = perSecond(b)
			for _, reference := range list[:2] {
				if rate := rates[reference.name]; rate > 0 {
					b.ReportMetric(rates[m.name]/rate, "of-"+reference.name)
				}
			}
		})
	}
}

func perSecond(b *testing.B) float64 {
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "op/s")
	return rate
}

// bareJob does nothing and is never worked.
type bareJob struct {
	N int64 `json:"n"`
}

func (bareJob) Kind() string { return "bench_nothing" }

// writeAsk stores what a question of somebody with a session stores.
func (d *desk) writeAsk() error {
	ctx, n := context.Background(), d.asked.Add(1)
	name := d.agents[int(n)%len(d.agents)]
	return db.InTx(ctx, d.pool, func(tx pgx.Tx) error {
		const args = `{"path":"/srv/data/file.txt","text":"a line of text"}`
		id, digest := uuid.Must(uuid.NewV7()).String(), fmt.Sprintf("%064d", n)
		_, err := tx.Exec(ctx, `
			INSERT INTO approval_requests
			    (id, agent_id, short_id, session_id, requester_id, requester_name, resource_type, resource_key,
			     args_bytes, args_digest, args_sha256, rule_id, rule_text, settings, expires_at)
			VALUES ($1, $2, nextval(format('approval_numbers.%I', md5($2))::regclass), 'written ' || $2, 'somebody', 'a caller', 'tool', 'mcp__up__write',
			        $3, $4, $4, 'rule', 'tool mcp__up__write requires approval', '{"opens": [], "binding": "arguments"}', now() + interval '1 day')`,
			id, name, []byte(args), digest)
		if err != nil {
			return err
		}
		if _, err := session.Append(ctx, tx, name, "written "+name, session.ApprovalRequested, json.RawMessage(args)); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, audit.Record{Kind: "bench", AgentID: name, Data: json.RawMessage(args)}); err != nil {
			return err
		}
		later := &river.InsertOpts{ScheduledAt: time.Now().Add(time.Hour)}
		_, err = d.jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{Args: bareJob{n}, InsertOpts: later}, {Args: bareJob{n}, InsertOpts: later}})
		return err
	})
}

func (d *desk) bareAsk() error {
	ctx, n := context.Background(), d.asked.Add(1)
	return db.InTx(ctx, d.pool, func(tx pgx.Tx) error {
		const event = `{"requestId":"x","args":{"path":"/srv/data/file.txt","text":"a line of text"}}`
		_, err := tx.Exec(ctx, `
			INSERT INTO inbox (channel, event_id, payload)
			VALUES ('bench', $1, $2)`, fmt.Sprint(n), event)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO audit_queue (kind, data) VALUES ('bench', $1)`, event); err != nil {
			return err
		}
		_, err = d.jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{Args: bareJob{n}}})
		return err
	})
}

// BenchmarkDecide measures a decision with all that follows from it. The reference
// is the conditional UPDATE alone; same-writes is a transaction that stores just what
// a decision stores, one statement after the other, and checks nothing else.
func BenchmarkDecide(b *testing.B) {
	d := newDesk(b, manyAgents)
	rates := map[string]float64{}
	for _, m := range []struct {
		name string
		do   func(approvals.Request) error
	}{{"reference", d.bareDecide}, {"same-writes", d.writeDecide}, {"holm", d.decide}} {
		warm := d.askMany(b, warmth)
		together(b, warmth, func(i int) error { return m.do(warm[i]) })
		b.Run(m.name, func(b *testing.B) {
			requests := d.askMany(b, b.N)
			b.ResetTimer()
			together(b, b.N, func(i int) error { return m.do(requests[i]) })
			rates[m.name] = perSecond(b)
			for _, reference := range []string{"reference", "same-writes"} {
				if rate := rates[reference]; rate > 0 {
					b.ReportMetric(rates[m.name]/rate, "of-"+reference)
				}
			}
		})
	}
}

func (d *desk) bareDecide(r approvals.Request) error {
	_, err := d.pool.Exec(context.Background(), `
		UPDATE approval_requests
		SET status = 'rejected', resolved_at = now()
		WHERE id = $1 AND status = 'pending' AND now() < expires_at`, r.ID)
	return err
}

// writeDecide stores what the operator's approval of one call stores.
func (d *desk) writeDecide(r approvals.Request) error {
	ctx := context.Background()
	return db.InTx(ctx, d.pool, func(tx pgx.Tx) error {
		const data = `{"requestId":"x","decision":"approved","resolution":"single","reviewerId":"admin"}`
		_, err := tx.Exec(ctx, `
			WITH r AS (
			    UPDATE approval_requests
			    SET status = 'approved', resolution = 'single', resolved_by = 'admin', resolved_name = 'operator', resolved_via = 'api',
			        resolved_at = clock_timestamp(), version = version + 1
			    WHERE id = $1 AND status = 'pending' AND clock_timestamp() < expires_at
			    RETURNING id
			)
			INSERT INTO approval_votes (request_id, approver, name, via, resolution, at)
			SELECT id, 'admin', 'operator', 'api', 'single', clock_timestamp()
			FROM r`, r.ID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO approval_grants
			    (id, agent_id, requester_id, resource_type, resource_key, rule_id, args_digest, uses_left, valid_until, request_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 1, now() + interval '1 hour', $1)`,
			r.ID, r.AgentID, r.RequesterID, r.ResourceType, r.ResourceKey, r.RuleID, r.ArgsDigest)
		if err != nil {
			return err
		}
		if _, err := session.Append(ctx, tx, r.AgentID, r.SessionID, session.ApprovalResolved, json.RawMessage(data)); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, audit.Record{Kind: "bench", AgentID: r.AgentID, Data: json.RawMessage(data)}); err != nil {
			return err
		}
		_, err = d.jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{Args: bareJob{}}})
		return err
	})
}

// held is how many requests wait at one time.
const held = 1000

// BenchmarkWake measures how long after a decision was committed its waiter is
// awake, with 1,000 requests held: in the process that decided and in another,
// beside a NOTIFY that one connection sends and another hears.
func BenchmarkWake(b *testing.B) {
	d := newDesk(b, manyAgents)
	other, _, _ := newProcess(b, openPool(b, d.url))
	b.Run("reference", func(b *testing.B) { spread(b, d.notify(b)) })
	b.Run("same_process", func(b *testing.B) { spread(b, d.wake(b, d.hub)) })
	b.Run("other_process", func(b *testing.B) { spread(b, d.wake(b, other)) })
}

// spread prints how the delays spread.
func spread(b *testing.B, delays []time.Duration) {
	slices.Sort(delays)
	for name, share := range map[string]float64{"p50-ms": 0.5, "p95-ms": 0.95, "p99-ms": 0.99, "max-ms": 1} {
		i := int(share*float64(len(delays))) - 1
		b.ReportMetric(float64(delays[max(i, 0)].Microseconds())/1000, name)
	}
	b.ReportMetric(0, "ns/op") // the delays are what counts
}

func (d *desk) notify(b *testing.B) (delays []time.Duration) {
	ctx := context.Background()
	listener, err := pgx.Connect(ctx, d.url)
	must(b, err)
	defer listener.Close(ctx)
	_, err = listener.Exec(ctx, `LISTEN bench_reference`)
	must(b, err)
	for range b.N {
		_, err := d.pool.Exec(ctx, `SELECT pg_notify('bench_reference', 'x')`)
		must(b, err)
		sent := time.Now()
		_, err = listener.WaitForNotification(ctx)
		must(b, err)
		delays = append(delays, time.Since(sent))
	}
	return delays
}

// wake decides held requests, one after the other, at least as often as b.N.
func (d *desk) wake(b *testing.B, hub *wake.Hub) (delays []time.Duration) {
	for len(delays) < b.N {
		requests := d.askMany(b, held)
		waiters, woken := make([]*wake.Waiter, held), make([]chan time.Time, held)
		for i, r := range requests {
			waiters[i], woken[i] = hub.Wait(approvals.Key(r.ID)), make(chan time.Time, 1)
			go func() { <-waiters[i].C; woken[i] <- time.Now() }()
		}
		for i, r := range requests {
			must(b, d.decide(r))
			committed := time.Now()
			delays = append(delays, max((<-woken[i]).Sub(committed), 0))
			waiters[i].Close()
		}
	}
	return delays
}

// BenchmarkPickUp measures how long a job waits for its worker, one at a time and
// in bursts of a hundred.
func BenchmarkPickUp(b *testing.B) {
	for _, burst := range []int{1, 100} {
		b.Run(fmt.Sprintf("burst=%d", burst), func(b *testing.B) { spread(b, pickUp(b, burst)) })
	}
}

type timedWorker struct {
	river.WorkerDefaults[bareJob]
	begun chan time.Time
}

func (w *timedWorker) Work(context.Context, *river.Job[bareJob]) error {
	w.begun <- time.Now()
	return nil
}

func pickUp(b *testing.B, burst int) (delays []time.Duration) {
	ctx, pool := context.Background(), dbtest.DB(b)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	workers, worker := river.NewWorkers(), &timedWorker{begun: make(chan time.Time, burst)}
	river.AddWorker(workers, worker)
	hub, _, _ := newProcess(b, pool)
	client, err := jobs.New(jobs.Config{Pool: pool, Hub: hub, Log: log, Workers: workers})
	must(b, err)
	must(b, client.Start(ctx))
	defer func() { must(b, client.Stop(ctx)) }()
	for len(delays) < b.N {
		params := make([]river.InsertManyParams, burst)
		for i := range params {
			params[i] = river.InsertManyParams{Args: bareJob{int64(i)}}
		}
		must(b, db.InTx(ctx, pool, func(tx pgx.Tx) error {
			_, err := client.InsertManyTx(ctx, tx, params)
			return err
		}))
		queued := time.Now()
		for range burst {
			delays = append(delays, max((<-worker.begun).Sub(queued), 0))
		}
	}
	return delays
}
