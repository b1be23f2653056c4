package approvals_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/jobs"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	ctx      = context.Background()
	operator = approvals.Actor{Admin: true, Name: "the operator", Via: "cli"}
)

// world is an installation with agent main, whose owner Olga is on one channel.
type world struct {
	t    testing.TB
	pool *pgxpool.Pool
	hub  *wake.Hub
	svc  *approvals.Service
	olga string
}

// newWorld makes its test run beside others, most of which wait more than they work.
func newWorld(t testing.TB) *world {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	return anotherWorld(t)
}

// anotherWorld is for a test that makes several.
func anotherWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, pool: dbtest.DB(t)}
	w.hub, w.svc = w.process()
	w.agent("main")
	w.olga = w.person("olga", "main", policy.Owner)
	return w
}

// in is the same world for a subtest.
func (w *world) in(t testing.TB) *world {
	same := *w
	same.t = t
	return &same
}

// process is the approvals part of one more process on the same database.
func (w *world) process() (*wake.Hub, *approvals.Service) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	hub := wake.New(w.pool, log)
	queue, err := jobs.New(jobs.Config{Pool: w.pool, Hub: hub, Log: log})
	w.ok(err)
	return hub, approvals.New(approvals.Config{
		Pool: w.pool, Hub: hub, Rules: rulestore.New(w.pool, hub, log), Jobs: queue, Log: log,
		MaxOpenPerSession: 1000, MaxOpenPerRequester: 1000, MaxAsksPerMinute: 100_000,
	})
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(ctx, sql, args...)
	w.ok(err)
}

func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	w.ok(w.pool.QueryRow(ctx, sql, args...).Scan(&n))
	return n
}

func (w *world) agent(name string) {
	w.t.Helper()
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(ctx, tx, name, "test")
		return err
	}))
}

// person makes a user who is reached at chat:<name>; an empty role makes a stranger.
func (w *world) person(name, agent string, role policy.Role) (id string) {
	w.t.Helper()
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: "chat", Identity: name}, name)
		if id = user.ID; err != nil || role == "" {
			return err
		}
		return identity.Join(ctx, tx, agent, id, role, "test")
	}))
	return id
}

// call is a call that the rule "rule-1" of agent main wants approved.
func (w *world) call(args string, changes ...func(*approvals.Call)) approvals.Call {
	w.t.Helper()
	parsed, err := policy.ParseArgs([]byte(args))
	w.ok(err)
	c := approvals.Call{
		Session:       session.Session{ID: "s1", AgentID: "main", Kind: session.API, RequesterID: "agent:main"},
		RequesterName: "main", ResourceType: policy.TypeTool, ResourceKey: "mcp__git__push", Args: parsed,
		Rule: policy.Row{ID: "rule-1", AgentID: "main", Version: 1, ResourceType: policy.TypeTool,
			ResourceKey: "mcp__git__push", Effect: policy.RequireApproval},
	}
	for _, change := range changes {
		change(&c)
	}
	anytime := c
	anytime.PolicyVersion = 0
	callsMade.Store(c.Digest(), anytime)
	return c
}

// callsMade are all calls of the tests, by the digest of their question, as judged by
// whatever rules there are.
var callsMade sync.Map

// callOf is the call that r is about; none for a request that nobody made.
func callOf(r approvals.Request) approvals.Call {
	found, _ := callsMade.Load(r.ArgsDigest)
	c, _ := found.(approvals.Call)
	return c
}

// by makes somebody else ask, in a session of theirs.
func by(requester string) func(*approvals.Call) {
	return func(c *approvals.Call) {
		c.Session.RequesterID, c.Session.ID, c.RequesterName = requester, "of "+requester, requester
	}
}

func inSession(id string) func(*approvals.Call) {
	return func(c *approvals.Call) { c.Session.ID = id }
}

func ruleVersion(n int) func(*approvals.Call) {
	return func(c *approvals.Call) { c.Rule.Version = n }
}

func ruleSays(a policy.ApprovalSettings) func(*approvals.Call) {
	return func(c *approvals.Call) { c.Rule.Scope.Approval = &a }
}

func (w *world) ask(c approvals.Call) approvals.Request {
	w.t.Helper()
	r, err := w.svc.Ask(ctx, c)
	w.ok(err)
	return r
}

// answer is Olga's decision about r.
func (w *world) answer(r approvals.Request, approve bool, resolution policy.Resolution) approvals.Decision {
	return approvals.Decision{AgentID: r.AgentID, RequestID: r.ID, Approve: approve, Resolution: resolution,
		Actor: approvals.Actor{UserID: w.olga, Name: "Olga", Via: "chat"}}
}

func (w *world) approve(r approvals.Request, resolution policy.Resolution) approvals.Request {
	w.t.Helper()
	r, err := w.svc.Decide(ctx, w.answer(r, true, resolution))
	w.ok(err)
	return r
}

func (w *world) reject(r approvals.Request) approvals.Request {
	w.t.Helper()
	r, err := w.svc.Decide(ctx, w.answer(r, false, ""))
	w.ok(err)
	return r
}

func (w *world) get(id string) approvals.Request {
	w.t.Helper()
	r, err := approvals.Lookup(ctx, w.pool, id)
	w.ok(err)
	return r
}

// overdue moves the deadline of r into the past.
func (w *world) overdue(r approvals.Request) {
	w.t.Helper()
	w.exec(`UPDATE approval_requests SET expires_at = now() - interval '1 second' WHERE id = $1`, r.ID)
}

// claims tells whether the service can claim r now.
func (w *world) claims(r approvals.Request) bool {
	w.t.Helper()
	_, ok, err := w.svc.Claim(ctx, r, callOf(r))
	w.ok(err)
	return ok
}

// column gives the text values of a query's one column.
func (w *world) column(sql string, args ...any) []string {
	w.t.Helper()
	rows, err := w.pool.Query(ctx, sql, args...)
	w.ok(err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	w.ok(err)
	return list
}

// jobKinds gives the kinds of the queued jobs that name id, sorted.
func (w *world) jobKinds(id string) []string {
	w.t.Helper()
	return w.column(`SELECT kind FROM river.river_job WHERE strpos(args::text, $1) > 0 ORDER BY kind`, id)
}

// refused checks the kind and code of a failure.
func refused(t testing.TB, err error, kind fault.Kind, code string) *fault.Error {
	t.Helper()
	e, ok := fault.As(err)
	if !ok || e.Kind != kind || e.Code != code {
		t.Fatalf("error %v, want kind %d and code %s", err, kind, code)
	}
	return e
}

// brokenQueue takes no jobs.
type brokenQueue struct{}

var errQueue = errors.New("the queue is broken")

func (brokenQueue) InsertManyTx(context.Context, pgx.Tx, []river.InsertManyParams) ([]*rivertype.JobInsertResult, error) {
	return nil, errQueue
}
