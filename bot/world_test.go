package bot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/approvals"
	"holm/bot"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
	"holm/internal/secret"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

const (
	waitFor = 40 * time.Second
	// cardWorkers bounds the cards that are sent or edited at one time.
	cardWorkers = 8
)

// world is one installation with real rows and jobs and people in memory.
type world struct {
	t      *testing.T
	ctx    context.Context
	pool   *pgxpool.Pool
	svc    *approvals.Service
	bot    *bot.Bot
	keeper *secret.Keeper
	chat   *recorder
	// namespace is that of chat, whose people act here.
	namespace string
	shop      *shop
	client    *river.Client[pgx.Tx]
}

// newWorld makes agent main, its bot on channel "chat", and running jobs.
func newWorld(t *testing.T) *world {
	w := idleWorld(t)
	w.start()
	return w
}

// idleWorld works no jobs until start is called.
func idleWorld(t *testing.T, more ...bot.Channel) *world {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	w := &world{t: t, ctx: ctx, pool: dbtest.DB(t), chat: newRecorder("chat"), namespace: "chat"}
	inserter := must(river.NewClient(riverpgxv5.New(w.pool), &river.Config{Schema: db.RiverSchema, Logger: log}))
	hub := wake.New(w.pool, log)
	w.svc = approvals.New(approvals.Config{
		Pool: w.pool, Hub: hub, Rules: rulestore.New(w.pool, hub, log), Jobs: inserter, Log: log,
		MaxOpenPerSession: 1000, MaxOpenPerRequester: 1000, MaxAsksPerMinute: 100_000,
	})
	w.shop = &shop{svc: w.svc, pool: w.pool}
	w.keeper = must(secret.New("a secret key for tests"))
	w.bot = must(bot.New(bot.Config{
		Pool: w.pool, Hub: hub, Approvals: w.svc, Keeper: w.keeper, Jobs: inserter,
		Channels: append(more, w.chat), Agent: "main", Runner: w.shop, Tools: shopTools, PublicURL: "https://holm.test", Log: log,
		DigestWindow: time.Hour, // acts on Listers alone, whose tests end it themselves
	}))
	workers := river.NewWorkers()
	w.bot.AddWorkers(workers)
	river.AddWorker(workers, &approvals.ExpireWorker{Service: w.svc})
	river.AddWorker(workers, &approvals.UndeliveredWorker{Service: w.svc})
	river.AddWorker(workers, &approvals.EndHoldWorker{Service: w.svc})
	river.AddWorker(workers, &approvals.ReconcileWorker{Service: w.svc})
	w.client = must(river.NewClient(riverpgxv5.New(w.pool), &river.Config{
		Schema: db.RiverSchema, Logger: log, Workers: workers, TestOnly: true,
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Queues: map[string]river.QueueConfig{
			bot.InboxQueue: {MaxWorkers: 8}, bot.TalkQueue: {MaxWorkers: 8}, approvals.CardQueue: {MaxWorkers: cardWorkers}, river.QueueDefault: {MaxWorkers: 2}, bot.CallQueue: {MaxWorkers: 4}, session.MessageQueue: {MaxWorkers: 4},
		},
	}))
	w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(ctx, tx, "main", "test")
		return err
	})
	return w
}

func (w *world) start() {
	w.t.Helper()
	if err := w.client.Start(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := w.client.StopAndCancel(context.Background()); err != nil {
			w.t.Errorf("stop jobs: %v", err)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) tx(do func(pgx.Tx) error) {
	w.t.Helper()
	if err := db.InTx(w.ctx, w.pool, do); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	must(w.pool.Exec(w.ctx, sql, args...))
}

// member makes a person on a channel with a role, and gives the user id.
func (w *world) member(channel, who string, role policy.Role, agent string) string {
	w.t.Helper()
	var id string
	w.tx(func(tx pgx.Tx) error {
		user, err := identity.EnsureUser(w.ctx, tx, identity.Address{Channel: channel, Identity: who}, strings.ToUpper(who[:1])+who[1:])
		if err != nil {
			return err
		}
		id = user.ID
		return identity.Join(w.ctx, tx, agent, user.ID, role, "test")
	})
	return id
}

func (w *world) owner(who string) string { return w.member("chat", who, policy.Owner, "main") }

// ask puts a question of agent main with a bare key.
func (w *world) ask(args string) approvals.Request { return w.askAs("main", "agent:main", args, nil) }

func (w *world) askAs(agent, requester, args string, settings *policy.ApprovalSettings) approvals.Request {
	w.t.Helper()
	r, err := w.svc.Ask(w.ctx, callAs(agent, requester, args, settings))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func callAs(agent, requester, args string, settings *policy.ApprovalSettings) approvals.Call {
	return approvals.Call{
		Session:       session.Session{ID: "key:" + agent + requester, AgentID: agent, Kind: session.Key, RequesterID: requester},
		RequesterName: "requester of " + agent, ResourceType: "tool", ResourceKey: "github__create_issue",
		Args: must(policy.ParseArgs([]byte(args))),
		Rule: policy.Row{
			ID: "rule", AgentID: agent, ResourceType: "tool", ResourceKey: "github__*", Version: 1,
			Effect: policy.RequireApproval, Scope: policy.Scope{Approval: settings}, Note: "issues are public",
		},
	}
}

// claim takes a request of askAs for its execution.
func (w *world) claim(r approvals.Request, settings *policy.ApprovalSettings) (approvals.Request, bool, error) {
	return w.svc.Claim(w.ctx, r, callAs(r.AgentID, r.RequesterID, string(r.ArgsBytes), settings))
}

// card waits for the card of r at a person.
func (w *world) card(who string, r approvals.Request) *message {
	w.t.Helper()
	var found *message
	w.see("a card of #"+fmt.Sprint(r.ShortID)+" at "+who, func() bool {
		found = w.find(who, fmt.Sprintf("#%d", r.ShortID))
		return found != nil
	})
	return found
}

// find gives the card of a person whose head has these parts, which stand between
// dots; it is called with the recorder's lock held.
func (w *world) find(who, parts string) *message {
	for _, m := range w.chat.messages {
		if m.to.Identity == who && len(m.card.Facts) > 0 && hasParts(m.card.Head, parts) {
			return m
		}
	}
	return nil
}

func hasParts(head, parts string) bool {
	has := strings.Split(head, " · ")
	return !slices.ContainsFunc(strings.Split(parts, " · "), func(part string) bool { return !slices.Contains(has, part) })
}

func (w *world) see(what string, seen func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, waitFor)
	defer cancel()
	if !w.chat.until(ctx, seen) {
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		for _, m := range w.chat.messages {
			w.t.Logf("message at %s: %.200q", m.to.Identity, m.card.Head)
		}
		w.t.Logf("answers: %+v", w.chat.answers)
		w.t.Fatalf("never seen: %s", what)
	}
}

// token is the data of the button of a card whose label begins so.
func token(c bot.Card, label string) string {
	for _, b := range slices.Concat(c.Buttons...) {
		if strings.HasPrefix(b.Label, label) {
			return b.Token
		}
	}
	return ""
}

// token waits for a button on the card of r at a person, and gives its token.
func (w *world) token(who string, r approvals.Request, label string) (text string) {
	w.t.Helper()
	m := w.card(who, r)
	w.see(fmt.Sprintf("the button %q of %s", label, who), func() bool {
		text = token(m.card, label)
		return text != ""
	})
	return text
}

// tap presses a button and gives what the person is told.
func (w *world) tap(who, token string) string {
	w.t.Helper()
	return w.answerTo(who, func() { w.store(bot.Event{Kind: bot.Tap, Identity: who, Name: who, Direct: true, Token: token}) })
}

func (w *world) answerTo(who string, do func()) string {
	w.t.Helper()
	count := func() (n int, last string) {
		for _, a := range w.chat.answers {
			if a.identity == who {
				n, last = n+1, a.text
			}
		}
		return n, last
	}
	w.chat.mu.Lock()
	before, _ := count()
	w.chat.mu.Unlock()
	do()
	var text string
	w.see("an answer to "+who, func() bool {
		n, last := count()
		text = last
		return n > before
	})
	return text
}

func (w *world) store(ev bot.Event) { w.storeAs(uuid.NewString(), ev) }

func (w *world) storeAs(id string, ev bot.Event) {
	w.t.Helper()
	if err := w.bot.Store(w.ctx, w.namespace, bot.Incoming{ID: id, Payload: must(json.Marshal(ev))}); err != nil {
		w.t.Error(err)
	}
}

// says types a line in the direct chat and gives the bot's reply.
func (w *world) says(who, line string) string {
	w.t.Helper()
	return w.saysAs(who, line, true)
}

func (w *world) saysAs(who, line string, direct bool) string {
	w.t.Helper()
	return w.replyTo(who, func() {
		w.store(bot.Event{Kind: bot.Text, Identity: who, Name: who, Direct: direct, Text: line})
	})
}

// replyTo gives what the bot says to a person after do.
func (w *world) replyTo(who string, do func()) string {
	w.t.Helper()
	count := func() (n int, last string) {
		for _, m := range w.chat.messages {
			if m.to.Identity == who && len(m.card.Facts) == 0 {
				n, last = n+1, m.card.Head
			}
		}
		return n, last
	}
	w.chat.mu.Lock()
	before, _ := count()
	w.chat.mu.Unlock()
	do()
	var text string
	w.see("a reply to "+who, func() bool {
		n, last := count()
		text = last
		return n > before
	})
	return text
}

// now reads a request as it is.
func (w *world) now(r approvals.Request) approvals.Request {
	w.t.Helper()
	return must(approvals.Get(w.ctx, w.pool, r.AgentID, r.ID))
}

// delivery reads state, attempts and last error of the card at a person.
func (w *world) delivery(who string, r approvals.Request) (state string, attempts int, lastError string) {
	w.t.Helper()
	err := w.pool.QueryRow(w.ctx, `
		SELECT state, attempts, last_error
		FROM card_deliveries
		WHERE request_id = $1
		  AND identity = $2`, r.ID, who).Scan(&state, &attempts, &lastError)
	if err != nil {
		w.t.Fatal(err)
	}
	return state, attempts, lastError
}

// poll looks at rows until ok, where no signal tells of a change.
func (w *world) poll(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(waitFor); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("never happened: %s", what)
		}
	}
}

// contains fails unless text has every part.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in %q", part, text)
		}
	}
}

// startTwin runs a second process's bot with the same channels and jobs. Stop ends
// it as the end of its process would, in the midst of its jobs.
func (w *world) startTwin(more ...bot.Channel) (twin *bot.Bot, stop func()) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	twin = must(bot.New(bot.Config{
		Pool: w.pool, Hub: w.bot.Hub, Approvals: w.svc, Keeper: w.keeper, Jobs: w.bot.Jobs,
		Channels: append(more, w.chat), Agent: "main", Runner: w.shop, Log: log,
	}))
	workers := river.NewWorkers()
	twin.AddWorkers(workers)
	client := must(river.NewClient(riverpgxv5.New(w.pool), &river.Config{
		Schema: db.RiverSchema, Logger: log, Workers: workers, TestOnly: true,
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Queues: map[string]river.QueueConfig{bot.InboxQueue: {MaxWorkers: 8}, bot.TalkQueue: {MaxWorkers: 8}, approvals.CardQueue: {MaxWorkers: cardWorkers}, bot.CallQueue: {MaxWorkers: 4}, session.MessageQueue: {MaxWorkers: 4}},
	}))
	if err := client.Start(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := client.StopAndCancel(context.Background()); err != nil {
			w.t.Errorf("stop jobs: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return twin, stop
}
