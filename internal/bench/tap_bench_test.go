//go:build unix

package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/bot"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
	"holm/internal/jobs"
	"holm/internal/secret"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

const (
	// chats is how many people tap at one time, each an owner of an agent of
	// their own.
	chats = 100
	// further is how many more cards each of them is being sent meanwhile, where a
	// busy platform is measured, and slowness how long it takes for each.
	further  = 2
	slowness = 2 * time.Second
)

// platform is a chat platform with people on it who tap.
type platform interface {
	channel() bot.Channel
	// person makes the next one and gives their identity.
	person() string
	// card waits until the i-th person sees the card of a request.
	card(i int, r approvals.Request)
	// tap approves the card that card has found, and returns at once.
	tap(i int)
	// seen waits until the i-th person has an answer and a card without buttons,
	// and tells when the product was handed the tap and when it did the two.
	seen(i int) (handed, answered, edited time.Time)
	// slow makes the platform take its time for each new message until quick.
	slow()
	quick()
}

// BenchmarkTap measures, from the moment in which 100 people tap at once, when the
// platform has handed a tap to Holm, its decision is committed, the waiting
// requester has read it, and the person has seen an answer and the card without
// buttons: the real bot and adapter beside a platform that answers at once, and
// beside one that takes two seconds for each of 200 further cards that are on their
// way. The edit of the card waits for the pace that the platform allows. An op is
// a hundred taps. x-reference is the p95 of the commit beside that of 100
// transactions at once on the same connections that insert a row and decide a
// request by the conditional UPDATE alone.
func BenchmarkTap(b *testing.B) {
	for _, p := range []struct {
		name string
		open func(b *testing.B) platform
	}{{"telegram", onTelegram}, {"slack", onSlack}} {
		b.Run(p.name, func(b *testing.B) {
			for _, load := range []string{"quiet", "busy"} {
				b.Run(load, func(b *testing.B) { measureTaps(b, newTapRig(b, p.open(b)), load == "busy") })
			}
		})
	}
}

// tapRig is a Holm process with a bot, as holm serve wires it, and its people.
type tapRig struct {
	platform
	pool  *pgxpool.Pool
	hub   *wake.Hub
	asked *approvals.Service
	rules []rulestore.Row // of the agents, one for each person and one nobody owns
	turn  atomic.Int64
}

func newTapRig(b *testing.B, p platform) *tapRig {
	b.Helper()
	ctx := context.Background()
	r := &tapRig{platform: p, pool: dbtest.DB(b)}
	must(b, db.InTx(ctx, r.pool, func(tx pgx.Tx) error {
		for i := range chats + 1 {
			if err := r.addAgent(ctx, tx, fmt.Sprintf("%s-%d", agent, i), i < chats); err != nil {
				return err
			}
		}
		return nil
	}))
	r.serve(b)
	return r
}

func (r *tapRig) addAgent(ctx context.Context, tx pgx.Tx, name string, owned bool) error {
	if _, err := identity.CreateAgent(ctx, tx, name, "bench"); err != nil {
		return err
	}
	rule, err := rulestore.Put(ctx, tx, policy.Row{
		AgentID: name, ResourceType: policy.TypeTool, ResourceKey: "mcp__up__write",
		Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()},
	}, "bench")
	r.rules = append(r.rules, rule)
	if err != nil || !owned {
		return err
	}
	user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: r.channel().Namespace(), Identity: r.person()}, "An Owner")
	if err != nil {
		return err
	}
	return identity.Join(ctx, tx, name, user.ID, policy.Owner, "bench")
}

// serve runs what holm serve does of it, until the benchmark ends.
func (r *tapRig) serve(b *testing.B) {
	b.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	keeper, err := secret.New("a secret key for benchmarks")
	must(b, err)
	r.hub = wake.New(r.pool, log)
	rules := rulestore.New(r.pool, r.hub, log)
	r.asked = approvals.New(approvals.Config{Pool: r.pool, Hub: r.hub, Rules: rules, Log: log})
	workers := river.NewWorkers()
	queue, err := jobs.New(jobs.Config{
		Pool: r.pool, Hub: r.hub, Log: log, Workers: workers, Queues: bot.Queues(),
		Periodic: []*river.PeriodicJob{jobs.Every(approvals.ReconcileEvery, approvals.ReconcileArgs{})},
	})
	must(b, err)
	r.asked.Jobs = queue
	chat, err := bot.New(bot.Config{
		Pool: r.pool, Hub: r.hub, Approvals: r.asked, Keeper: keeper, Jobs: queue,
		Channels: []bot.Channel{r.channel()}, Agent: agent + "-0", Log: log,
	})
	must(b, err)
	chat.AddWorkers(workers)
	river.AddWorker(workers, &approvals.ExpireWorker{Service: r.asked})
	river.AddWorker(workers, &approvals.UndeliveredWorker{Service: r.asked})
	river.AddWorker(workers, &approvals.RemindWorker{Service: r.asked})
	river.AddWorker(workers, &approvals.ReconcileWorker{Service: r.asked})

	ctx, stop := context.WithCancel(context.Background())
	must(b, queue.Start(ctx))
	chainer := &audit.Chainer{Pool: r.pool, Hub: r.hub, Log: log}
	var parts sync.WaitGroup
	parts.Go(func() { _ = r.hub.Run(ctx) })
	parts.Go(func() { _ = rules.Run(ctx) })
	parts.Go(func() { _ = chainer.Run(ctx) })
	parts.Go(func() { _ = chat.Run(ctx) })
	b.Cleanup(func() {
		_ = queue.StopAndCancel(context.Background())
		stop()
		parts.Wait()
	})
}

// ask puts a question of the i-th agent that nobody put before, from a session of
// its own.
func (r *tapRig) ask(i int) (approvals.Request, error) {
	turn := r.turn.Add(1)
	args, err := policy.ParseArgs(fmt.Appendf(nil, `{"path":"/srv/data/file-%d.txt","text":"a line of text"}`, turn))
	if err != nil {
		return approvals.Request{}, err
	}
	rule, requester := r.rules[i], fmt.Sprintf("user-%d", turn)
	return r.asked.Ask(context.Background(), approvals.Call{
		Session:       session.Session{ID: "key:" + requester, AgentID: rule.AgentID, Kind: session.Key, RequesterID: requester},
		RequesterName: "a caller", ResourceType: policy.TypeTool, ResourceKey: "mcp__up__write", Args: args,
		Rule: policy.Row{ID: rule.ID, AgentID: rule.AgentID, ResourceType: policy.TypeTool, ResourceKey: "mcp__up__write", Version: rule.Version},
	})
}

// askEach puts a question of each person's agent.
func (r *tapRig) askEach(b *testing.B) []approvals.Request {
	b.Helper()
	requests := make([]approvals.Request, chats)
	together(b, chats, func(i int) (err error) {
		requests[i], err = r.ask(i)
		return err
	})
	return requests
}

// stages are what is measured of each tap.
var stages = []string{"handed", "commit", "told", "answer", "edit"}

func measureTaps(b *testing.B, r *tapRig, busy bool) {
	delays, reference := map[string][]time.Duration{}, []time.Duration{}
	for range b.N {
		b.StopTimer()
		requests := r.askEach(b)
		for i, one := range requests {
			r.card(i, one)
		}
		r.until(b, `SELECT NOT EXISTS (SELECT FROM card_deliveries WHERE state = 'queued')`)
		reference = append(reference, r.reference(b)...)
		if busy {
			r.slow()
			for range further {
				r.askEach(b)
			}
			r.until(b, `SELECT count(*) >= 40 FROM river.river_job WHERE kind = 'approval_deliver' AND state = 'running'`)
		}
		b.StartTimer()
		for stage, of := range r.tapAll(b, requests) {
			delays[stage] = append(delays[stage], of...)
		}
		b.StopTimer()
		r.quick()
		r.until(b, `SELECT NOT EXISTS (SELECT FROM card_deliveries WHERE state = 'queued')`)
	}
	b.ReportMetric(0, "ns/op")
	for _, stage := range stages {
		percentiles(b, stage, delays[stage])
	}
	percentiles(b, "reference", reference)
	b.ReportMetric(delays["commit"][len(delays["commit"])*95/100].Seconds()/reference[len(reference)*95/100].Seconds(), "x-reference")
}

// percentiles sorts the delays of a stage and prints how they spread.
func percentiles(b *testing.B, stage string, delays []time.Duration) {
	slices.Sort(delays)
	for _, share := range []int{50, 95, 99} {
		b.ReportMetric(delays[len(delays)*share/100].Seconds()*1000, fmt.Sprintf("%s-p%d-ms", stage, share))
	}
}

// tapAll lets all people tap in one moment and gives how long each stage took.
func (r *tapRig) tapAll(b *testing.B, requests []approvals.Request) map[string][]time.Duration {
	b.Helper()
	tapped, committed, told := make([]time.Time, chats), make([]time.Time, chats), make([]time.Time, chats)
	var waiting, ready sync.WaitGroup
	for i, one := range requests {
		ready.Add(1)
		waiting.Go(func() {
			waiter := r.hub.Wait(approvals.Key(one.ID))
			defer waiter.Close()
			ready.Done()
			var err error
			committed[i], told[i], err = r.decided(waiter, one)
			if err != nil {
				b.Error(err)
			}
		})
	}
	ready.Wait()
	for i := range requests {
		tapped[i] = time.Now()
		r.tap(i)
	}
	waiting.Wait()
	delays := map[string][]time.Duration{}
	for i := range requests {
		handed, answered, edited := r.seen(i)
		for n, at := range []time.Time{handed, committed[i], told[i], answered, edited} {
			delays[stages[n]] = append(delays[stages[n]], at.Sub(tapped[i]))
		}
	}
	return delays
}

// decided waits as a held call does: for a notice, then for what the row says.
// The notice goes out after the commit.
func (r *tapRig) decided(waiter *wake.Waiter, one approvals.Request) (committed, told time.Time, err error) {
	for {
		select {
		case <-waiter.C:
		case <-time.After(5 * time.Minute):
			return committed, told, fmt.Errorf("request %s was never decided", one.ID)
		}
		committed = time.Now()
		now, err := approvals.Get(context.Background(), r.pool, one.AgentID, one.ID)
		if err != nil || now.Status == approvals.Approved {
			return committed, time.Now(), err
		}
	}
}

// reference measures as many bare transactions at once.
func (r *tapRig) reference(b *testing.B) []time.Duration {
	b.Helper()
	ctx := context.Background()
	requests, delays := make([]approvals.Request, chats), make([]time.Duration, chats)
	together(b, chats, func(i int) (err error) {
		requests[i], err = r.ask(chats)
		return err
	})
	var callers sync.WaitGroup
	began := time.Now()
	for i, one := range requests {
		callers.Go(func() {
			err := db.InTx(ctx, r.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO inbox (channel, event_id, payload, handled_at) VALUES ('bench', $1, '{}', now())`, one.ID)
				if err != nil {
					return err
				}
				_, err = tx.Exec(ctx, `
					UPDATE approval_requests
					SET status = 'rejected', resolved_at = clock_timestamp(), told_at = clock_timestamp()
					WHERE id = $1 AND status = 'pending' AND clock_timestamp() < expires_at`, one.ID)
				return err
			})
			if err != nil {
				b.Error(err)
			}
			delays[i] = time.Since(began)
		})
	}
	callers.Wait()
	return delays
}

// until looks at rows until they are so.
func (r *tapRig) until(b *testing.B, sql string) {
	b.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var so bool
		must(b, r.pool.QueryRow(context.Background(), sql).Scan(&so))
		if so {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("never so: %s", sql)
		}
	}
}
