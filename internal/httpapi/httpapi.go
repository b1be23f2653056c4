// Package httpapi is Holm's REST interface: what operators, agents and
// external channels may ask for over HTTP, who they are, and how failures look
// on the wire. It decides nothing itself: rows belong to identity, servers,
// rulestore and session, answers to approvals. Listening, TLS, the check of
// the Host header belong to whoever mounts it.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/identity"
	"holm/internal/intake"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

// Config is what the interface is made of. Pool, Hub, Approvals, Rules,
// Keyring, Servers, AdminToken and Log are required.
type Config struct {
	Pool      *pgxpool.Pool
	Hub       *wake.Hub
	Approvals *approvals.Service
	Rules     *rulestore.Store
	Keyring   *identity.Keyring
	Servers   *servers.Store
	// Secret verifies the button tokens that external channels present. Default
	// that of Servers.
	Secret *secret.Keeper
	// AdminToken is the operator's credential.
	AdminToken string
	Log        *slog.Logger

	// Enforce puts a call to the gate. Nil: there is none here, and the call is
	// refused.
	Enforce func(ctx context.Context, e Enforcement) (Enforced, error)
	// Links gives, by channel, where a person uses an invitation. Nil: nowhere.
	Links func(ctx context.Context, token string) map[string]Link
	// ServerStatus tells how a registered server does; ok is false when this
	// process does not run it. Nil: no process does.
	ServerStatus func(ctx context.Context, name string) (status ServerStatus, ok bool)
	// Tools are all tools there are, as far as they are known. Nil: none.
	Tools func(ctx context.Context) []policy.ToolInfo
	// Definition names how a server's tool is made now; see policy.Request. Optional.
	Definition func(server, tool string) string
	// Channels tells how Holm's own channels do. Nil: there are none.
	Channels func(ctx context.Context) ([]ChannelHealth, error)
	// CheckChannel refuses one of Holm's own channels that could not work. Nil:
	// none can be added.
	CheckChannel func(c identity.OwnChannel) error
	// OpenChannels has this process open what is stored now, so that Channels
	// tells of that. Nil: it notices by itself.
	OpenChannels func(ctx context.Context) error
	// ClosedRoutes are, by channel, the people who cannot be written to. Nil: there
	// are none.
	ClosedRoutes func(ctx context.Context) (map[string][]ClosedRoute, error)
	// Press does what a button of a list, or one that decides nothing, says that a
	// person of an external channel pressed, and tells what came of it; ok is false
	// for a token that is none of these. Nil: there are none.
	Press func(ctx context.Context, agentID string, who identity.Address, token, reason string) (text string, ok bool, err error)
	// MayApprove tells whether the person of a button that approves has been shown
	// all arguments of its request. Nil: nobody has.
	MayApprove func(ctx context.Context, b approvals.Button) (bool, error)
	// TestChannels sends owners a test card. Nil: there are no channels.
	TestChannels func(ctx context.Context, t ChannelTest) ([]ChannelReached, error)
	// Intake bounds what requests hold; all fronts of a process share one. Nil: one
	// with the default bounds.
	Intake *intake.Intake
	// Ready is nil, or gives nil, while this process can serve.
	Ready func(ctx context.Context) error
	// Ending is closed when the process is about to stop: event streams end, and
	// their readers come back elsewhere. Nil: they end with their connections.
	Ending <-chan struct{}
	// Heartbeat is the longest silence of an event stream. Default 15 s.
	Heartbeat time.Duration
	// WritePatience is how long the reader of a stream may take to accept one
	// event before it is cut off. Default 10 s.
	WritePatience time.Duration
}

// Link is where an invitation is used on one channel: an address to open, or
// words that say what to do.
type Link struct {
	URL  string `json:"url,omitempty"`
	Hint string `json:"hint,omitempty"`
}

// ServerStatus is how a registered server does in this process.
type ServerStatus struct {
	// State is idle, connecting, up or down.
	State string `json:"state"`
	// Error is why it is or last was not up.
	Error string `json:"error,omitempty"`
	// Tools are the names of its tools, empty before it was first up.
	Tools []string `json:"tools"`
	// Stderr is the end of what its process wrote to stderr.
	Stderr []string `json:"stderr,omitempty"`
}

// ChannelHealth is how one of Holm's own channels does.
type ChannelHealth struct {
	Namespace string
	AgentID   string
	// Stored tells that an operator added it; the settings name the others.
	Stored    bool
	Connected bool
	// Account is the bot's own name on the platform, once known.
	Account string
	// LastEvent is when the platform last delivered something, zero for never.
	LastEvent time.Time
	// Error is the last failure, empty when all is well; it holds no secrets.
	Error string
}

// ClosedRoute is a person whom the platform lets nobody write to: they blocked
// the bot, never started it, or are gone.
type ClosedRoute struct {
	Identity string    `json:"identity"`
	Name     string    `json:"name,omitempty"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
}

// New makes the handler of /api, /healthz and /readyz.
func New(c Config) (http.Handler, error) {
	if c.Pool == nil || c.Hub == nil || c.Approvals == nil || c.Rules == nil ||
		c.Keyring == nil || c.Servers == nil || c.Log == nil {
		return nil, errors.New("httpapi: a required field of Config is nil")
	}
	if c.AdminToken == "" {
		return nil, errors.New("httpapi: the admin token is empty")
	}
	c.Secret = cmp.Or(c.Secret, c.Servers.Secret)
	if c.Intake == nil {
		c.Intake = intake.New(intake.Limits{})
	}
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	c.WritePatience = cmp.Or(c.WritePatience, 10*time.Second)
	document, err := Document()
	if err != nil {
		return nil, err
	}
	s := &server{Config: c}
	root := http.NewServeMux()
	root.Handle("/api/", s.protected(s.routes()))
	root.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
	root.HandleFunc("GET /healthz", s.alive)
	root.HandleFunc("GET /readyz", s.ready)
	return caught.Handler(c.Log, "api", root, func(w http.ResponseWriter) {
		writeProblem(w, newProblem(http.StatusInternalServerError, ""))
	}), nil
}

type server struct {
	Config
	api huma.API
}

// routes registers every call.
func (s *server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	s.api = newAPI(mux)
	s.registerAgents()
	s.registerKeys()
	s.registerMembers()
	s.registerUsers()
	s.registerLinks()
	s.registerLists()
	s.registerCircles()
	s.registerPolicies()
	s.registerChecks()
	s.registerApprovals()
	s.registerReviews()
	s.registerCancel()
	s.registerGrants()
	s.registerSessions()
	s.registerEvents()
	s.registerServers()
	s.registerChannels()
	s.registerWebhooks()
	s.registerAudit()
	s.registerEnforcement()
	return mux
}

// protected lets known callers through to mux.
func (s *server) protected(mux *http.ServeMux) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusForbidden, "a page of another origin may not call this"))
	}))
	return crossOrigin.Handler(s.authenticated(routed(mux)))
}

// handle registers one call. Its failures take the way of every failure here:
// through problem.
func handle[I, O any](s *server, op huma.Operation, do func(context.Context, *I) (*O, error)) {
	op.Security = []map[string][]string{{bearerScheme: {}}}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		return out, nil
	})
}

// inTx runs do and, once its work is committed, wakes those who wait for it:
// the chain of audit records and the given keys.
func (s *server) inTx(ctx context.Context, do func(pgx.Tx) error, wakes ...string) error {
	if err := db.InTx(ctx, s.Pool, do); err != nil {
		return err
	}
	s.Hub.Publish(append(wakes, audit.QueuedKey)...)
	return nil
}
