package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/bot"
	"holm/channels"
	"holm/channels/remote"
	"holm/gateway"
	"holm/gateway/builtin"
	"holm/internal/audit"
	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/db/embedded"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/intake"
	"holm/internal/jobs"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/settings"
	"holm/internal/wake"
	"holm/internal/webhook"
	"holm/policy"
	"holm/policy/rulestore"
)

// app is one running Holm process: what serve and demo start.
type app struct {
	settings settings.Settings
	log      *slog.Logger
	// extra are channels beside those of the settings (the demo's console).
	extra []bot.Channel
	// owners become owners of the settings' agent at start, beside those of the
	// settings; the values are their names.
	owners map[identity.Address]string

	// publicURL is the address in links and for platforms that call.
	publicURL string
	keeper    *secret.Keeper

	pool      *pgxpool.Pool
	hub       *wake.Hub
	rules     *rulestore.Store
	approvals *approvals.Service
	keyring   *identity.Keyring
	servers   *servers.Store
	gateway   *gateway.Gateway
	bot       *bot.Bot
	jobs      *jobs.Client
	chainer   *audit.Chainer
	webhooks  *webhook.Fanout
	database  *embedded.Server
	intake    *intake.Intake
	// ending is closed when the process begins to stop.
	ending chan struct{}
}

// shutdownTime bounds how long running calls and jobs get at the end.
const shutdownTime = 10 * time.Second

// run starts everything, calls ready with the address once it answers, and
// stops everything when ctx ends or the database dies.
func (a *app) run(ctx context.Context, ready func(url string)) (err error) {
	listener, err := net.Listen("tcp", a.settings.Listen)
	if err != nil {
		return &settings.Error{Setting: "HOLM_LISTEN", Message: fmt.Sprintf("%v", err)}
	}
	defer listener.Close()
	if err := a.openDatabase(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeDatabase()) }()
	url := a.settings.Public(listener.Addr().String())
	if err := a.assemble(ctx, url); err != nil {
		return err
	}
	if err := a.ensureAgent(ctx); err != nil {
		return err
	}
	handler, err := a.handler(listener.Addr(), url)
	if err != nil {
		return err
	}
	withdraw, err := settings.Announce(a.settings.DataDir, "http://"+listener.Addr().String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, withdraw()) }()
	return a.serve(ctx, listener, handler, func() { ready(url) })
}

func (a *app) openDatabase(ctx context.Context) error {
	url := a.settings.DatabaseURL
	if url == "" {
		server, err := embedded.Start(ctx, embedded.Config{DataDir: a.settings.DataDir, BinDir: a.settings.PGBin, Logger: a.log})
		if err != nil {
			return fmt.Errorf("start the embedded database: %w", err)
		}
		a.database = server
		url = server.URL()
	}
	pool, err := db.Open(ctx, url)
	if err != nil && a.database == nil {
		return fmt.Errorf("HOLM_DATABASE_URL: %w", err)
	}
	if err != nil {
		return errors.Join(err, a.closeDatabase())
	}
	a.pool = pool
	if a.database != nil {
		err = db.Migrate(ctx, pool)
	} else {
		err = checkMigrated(ctx, pool)
	}
	if err != nil {
		return errors.Join(err, a.closeDatabase())
	}
	return nil
}

// checkMigrated refuses to serve on a database whose tables are not those of
// this version: migrating somebody's own database is theirs to order.
func checkMigrated(ctx context.Context, pool *pgxpool.Pool) error {
	pending, err := db.Pending(ctx, pool)
	if err != nil {
		return err
	}
	if pending {
		return &settings.Error{Setting: "HOLM_DATABASE_URL", Message: "the database lacks migrations of this version; run: holm migrate"}
	}
	return nil
}

func (a *app) closeDatabase() error {
	if a.pool != nil {
		a.pool.Close()
	}
	if a.database == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return a.database.Stop(ctx)
}

// assemble makes the parts and connects them; nothing runs yet.
func (a *app) assemble(ctx context.Context, publicURL string) error {
	keeper, err := secret.New(a.settings.SecretKey)
	if err != nil {
		return &settings.Error{Setting: "HOLM_SECRET_KEY", Message: err.Error()}
	}
	if err := keeper.Check(ctx, a.pool); db.IsUnavailable(err) {
		return err
	} else if err != nil {
		return &settings.Error{Setting: "HOLM_SECRET_KEY", Message: "is not the key that this database was set up with: all processes on it need the same"}
	}
	a.keeper, a.publicURL = keeper, publicURL
	a.ending = make(chan struct{})
	a.intake = intake.New(a.settings.Limits.Intake())
	a.hub = wake.New(a.pool, a.log)
	a.rules = rulestore.New(a.pool, a.hub, a.log)
	a.keyring = identity.NewKeyring(a.pool)
	a.servers = &servers.Store{Pool: a.pool, Hub: a.hub, Secret: keeper}
	a.chainer = &audit.Chainer{Pool: a.pool, Hub: a.hub, Log: a.log}
	a.approvals = approvals.New(approvals.Config{
		Pool: a.pool, Hub: a.hub, Rules: a.rules, Log: a.log,
		MaxOpenPerSession: a.settings.MaxOpenPerSession, MaxOpenPerRequester: a.settings.MaxOpenPerRequester,
		MaxAsksPerMinute: a.settings.MaxAsksPerMinute,
	})

	connections, err := channels.Open(a.platforms())
	if err != nil {
		return err
	}
	workers := river.NewWorkers()
	a.jobs, err = jobs.New(jobs.Config{
		Pool: a.pool, Hub: a.hub, Log: a.log, Workers: workers, Queues: append(bot.Queues(), webhook.Queue),
		Periodic: []*river.PeriodicJob{
			jobs.Every(approvals.ReconcileEvery, approvals.ReconcileArgs{}), jobs.Every(bot.PruneEvery, bot.PruneArgs{}),
		},
	})
	if err != nil {
		return err
	}
	a.approvals.Jobs = a.jobs
	a.webhooks = &webhook.Fanout{Pool: a.pool, Hub: a.hub, Jobs: a.jobs, Log: a.log}
	a.bot, err = bot.New(bot.Config{
		Pool: a.pool, Hub: a.hub, Approvals: a.approvals, Keeper: keeper, Jobs: a.jobs,
		Channels: append(connections, a.extra...), Stored: a.storedChannels, Remote: a.remoteChannel, Agent: a.settings.Agent,
		Runner: runner{a}, Servers: a.servers, PublicURL: publicURL, DigestWindow: a.settings.DigestWindow, Zone: zoneOf(a.settings.TimeZone), Intake: a.intake,
		Tools: func(ctx context.Context) []policy.ToolInfo { return a.gateway.Tools(ctx) }, Log: a.log,
	})
	if err != nil {
		return err
	}
	river.AddWorker(workers, &approvals.ExpireWorker{Service: a.approvals})
	river.AddWorker(workers, &approvals.RemindWorker{Service: a.approvals})
	river.AddWorker(workers, &approvals.EscalateWorker{Service: a.approvals})
	river.AddWorker(workers, &approvals.UndeliveredWorker{Service: a.approvals})
	river.AddWorker(workers, &approvals.EndHoldWorker{Service: a.approvals})
	river.AddWorker(workers, &approvals.EndRealtimeWorker{Service: a.approvals})
	river.AddWorker(workers, &approvals.ReconcileWorker{Service: a.approvals})
	river.AddWorker(workers, webhook.NewDeliverWorker(a.pool, keeper))
	a.bot.AddWorkers(workers)

	a.gateway, err = gateway.New(gateway.Config{
		Pool: a.pool, Hub: a.hub, Rules: a.rules, Approvals: a.approvals, Keyring: a.keyring, Servers: a.servers,
		Builtins: builtin.All(builtin.Config{
			Pool: a.pool, Hub: a.hub, Rules: a.rules, Approvals: a.approvals,
			Tools: func(ctx context.Context) []policy.ToolInfo { return a.gateway.Tools(ctx) },
		}),
		Log: a.log, Version: version, Hold: a.settings.Hold, Realtime: a.settings.Realtime, Intake: a.intake,
	})
	return err
}

// remoteChannel finds the adapters that operators registered.
func (a *app) remoteChannel(ctx context.Context, namespace, agentID string) (bot.Channel, error) {
	c, err := identity.GetChannel(ctx, a.pool, namespace)
	if f, ok := fault.As(err); ok && f.Kind == fault.NotFound || err == nil && c.AgentID != agentID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return remote.Open(remote.Config{Namespace: namespace, URL: c.URL, Secret: c.SigningSecret(a.keeper), Lists: c.Lists}), nil
}

// ensureAgent makes the settings' agent and its owners when they are missing.
func (a *app) ensureAgent(ctx context.Context) error {
	return db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		// Processes that start at once take turns.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('holm ensure agent', 0))`); err != nil {
			return err
		}
		if _, err := identity.GetAgent(ctx, tx, a.settings.Agent); err != nil {
			if _, err := identity.CreateAgent(ctx, tx, a.settings.Agent, "system"); err != nil {
				return err
			}
		}
		owners := maps.Clone(a.owners)
		if owners == nil {
			owners = map[identity.Address]string{}
		}
		for _, address := range a.settings.Owners {
			owners[address] = ""
		}
		for address, name := range owners {
			user, err := identity.EnsureUser(ctx, tx, address, name)
			if err != nil {
				return err
			}
			err = identity.Join(ctx, tx, a.settings.Agent, user.ID, policy.Owner, "system")
			if fault.Is(err, "claimed_person") {
				a.log.Error("an identity of HOLM_OWNERS is not made an owner", "identity", address.String(), "error", err)
				continue // the operator can confirm it only once this runs
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// serve runs the parts until ctx ends, and joins them in an order in which
// each still has what it needs: callers first, the database last.
func (a *app) serve(ctx context.Context, listener net.Listener, handler http.Handler, ready func()) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	base, stopBase := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBase()
	var under, over sync.WaitGroup
	caught.Keep(&under, a.log, "hub", func() { _ = a.hub.Run(base) })
	caught.Keep(&under, a.log, "policy", func() { _ = a.rules.Run(base) })
	caught.Keep(&under, a.log, "keys", func() { _ = a.keyring.Run(base, a.hub) })
	caught.Keep(&under, a.log, "audit chain", func() { _ = a.chainer.Run(base) })
	caught.Keep(&under, a.log, "webhooks", func() { _ = a.webhooks.Run(base) })
	// Jobs that waited for this start find the channels that were added.
	if err := a.bot.Refresh(base); err != nil {
		a.log.Warn("channels that were added could not be opened yet", "error", err)
	}
	if err := a.jobs.Start(base); err != nil {
		stopBase()
		under.Wait()
		return fmt.Errorf("start jobs: %w", err)
	}
	rescuer := jobs.Rescuer{Pool: a.pool, Hub: a.hub, Log: a.log}
	caught.Keep(&under, a.log, "rescuer", func() { _ = rescuer.Run(base) })
	caught.Go(&over, a.log, "gateway", func() { _ = a.gateway.Run(ctx) })
	caught.Keep(&over, a.log, "bot", func() { _ = a.bot.Run(ctx) })
	if a.database != nil {
		over.Go(func() {
			select {
			case <-ctx.Done():
			case <-a.database.Done():
				stop(fmt.Errorf("the embedded database ended: %w", a.database.Err()))
			}
		})
	}

	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	over.Go(func() {
		if err := server.Serve(intake.Listen(listener, a.settings.MaxConnections)); !errors.Is(err, http.ErrServerClosed) {
			stop(fmt.Errorf("serve: %w", err))
		}
	})
	ready()
	<-ctx.Done()

	a.log.Info("stopping")
	close(a.ending)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		_ = server.Close() // streams that would not end by themselves
	}
	over.Wait()
	if err := a.jobs.Stop(end); err != nil {
		a.log.Warn("jobs were cut off; they run again at the next start", "error", err)
	}
	stopBase()
	under.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// zoneOf is the zone of a setting that was checked, nil for none.
func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if name == "" || err != nil {
		return nil
	}
	return zone
}
