// Package approvals is the life of an approval request: it is asked, decided
// by a person, expires or is withdrawn, is claimed by the call that waits for
// it, and ends with an outcome. The package owns the tables approval_requests
// and approval_grants and queues card_deliveries; it decides who may answer.
//
// It knows neither tools nor chat. The gateway asks and claims; the bot shows
// cards and brings answers; both meet it through rows and jobs. State, audit
// record, session event and jobs commit in one transaction.
package approvals

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/internal/audit"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/policy/rulestore"
)

// Jobs inserts River jobs with the caller's transaction. *river.Client is one.
type Jobs interface {
	InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error)
}

// Config is what a Service needs. Fields without a default are required.
type Config struct {
	Pool  *pgxpool.Pool
	Hub   *wake.Hub
	Rules *rulestore.Store
	Jobs  Jobs
	Log   *slog.Logger
	// MaxOpenPerSession and MaxOpenPerRequester bound the open requests of one
	// session and of one requester of an agent. Defaults 10 and 20.
	MaxOpenPerSession, MaxOpenPerRequester int
	// MaxAsksPerMinute bounds the questions that one requester of an agent puts
	// within a minute, whatever becomes of them. Default 60.
	MaxAsksPerMinute int
}

// Service asks and decides. Its methods may be called concurrently, by any
// number of processes on one database.
type Service struct {
	Config
	deaths wake.Deaths
}

// New makes a Service.
func New(c Config) *Service {
	c.MaxOpenPerSession = cmp.Or(c.MaxOpenPerSession, DefaultMaxOpenPerSession)
	c.MaxOpenPerRequester = cmp.Or(c.MaxOpenPerRequester, DefaultMaxOpenPerRequester)
	c.MaxAsksPerMinute = cmp.Or(c.MaxAsksPerMinute, DefaultMaxAsksPerMinute)
	return &Service{Config: c}
}

// Defaults of the caps: more than an agent that waits for answers has, few enough
// for a person to read.
const (
	DefaultMaxAsksPerMinute    = 60
	DefaultMaxOpenPerSession   = 10
	DefaultMaxOpenPerRequester = 20
)

const (
	// rejectionHolds is how long an identical ask gets the same rejection
	// without a new question.
	rejectionHolds = 5 * time.Minute
	// wakeTime bounds the look for those whom a change concerns besides.
	wakeTime = 5 * time.Second
	// maxResult is the largest result kept for a caller that comes back.
	maxResult = 4 << 20
)

// Key is published when a request changed.
func Key(requestID string) string { return "request:" + requestID }

// published wakes everybody concerned by a change of r; call it after the commit.
func (s *Service) published(r Request) {
	keys := append(session.Keys(r.AgentID, r.SessionID), Key(r.ID), audit.QueuedKey)
	if r.Asked > 1 {
		keys = append(keys, s.duplicateKeys(r)...)
	}
	s.Hub.Publish(keys...)
}
