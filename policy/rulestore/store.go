package rulestore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/wake"
	"holm/policy"
)

// Snapshot is an agent's compiled rows and the version they are of.
type Snapshot struct {
	*policy.Set
	Version int64
	// born tells an agent from one of the same name that was removed: their
	// versions count alike.
	born time.Time
}

// Store gives compiled sets. They are built when first asked for, kept, and
// built anew after a change: at once in the process that called Changed, and
// as soon as its notice arrives (or a look once a second finds it) in others.
type Store struct {
	pool *pgxpool.Pool
	hub  *wake.Hub
	log  *slog.Logger

	mu     sync.Mutex
	agents map[string]*entry
}

// entry serialises the building of one agent's set.
type entry struct {
	mu    sync.Mutex
	stale bool
	set   *Snapshot
}

// anyChanged is published besides the agent's own key.
const anyChanged = "policies"

// Key is published when the rows of an agent changed.
func Key(agentID string) string { return "policy:" + agentID }

// New makes an empty Store.
func New(pool *pgxpool.Pool, hub *wake.Hub, log *slog.Logger) *Store {
	return &Store{pool: pool, hub: hub, log: log, agents: map[string]*entry{}}
}

// Get gives the agent's rows as they are now.
func (s *Store) Get(ctx context.Context, agentID string) (*Snapshot, error) {
	s.mu.Lock()
	e := s.agents[agentID]
	if e == nil {
		e = &entry{stale: true}
		s.agents[agentID] = e
	}
	s.mu.Unlock()

	e.mu.Lock()
	defer e.mu.Unlock()
	s.mu.Lock()
	stale := e.stale
	e.stale = false
	s.mu.Unlock()
	if !stale {
		return e.set, nil
	}
	set, err := s.build(ctx, agentID)
	if err != nil {
		s.markStale(agentID)
		return nil, err
	}
	e.set = set
	return set, nil
}

func (s *Store) build(ctx context.Context, agentID string) (*Snapshot, error) {
	var a agent
	var stored []Row
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		if a, err = readAgent(ctx, tx, agentID); err != nil {
			return err
		}
		stored, err = a.readRows(ctx, tx, agentID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read policy of %s: %w", agentID, err)
	}
	set, _, err := a.compile(agentID, stored)
	if err != nil {
		return nil, err
	}
	for _, problem := range set.Problems() {
		s.log.Error("a policy row cannot be used and counts as a deny", "agent_id", agentID, "problem", problem)
	}
	return &Snapshot{Set: set, Version: a.version, born: a.born}, nil
}

// Changed makes a committed change hold: here before it returns, elsewhere
// within the time of a notice.
func (s *Store) Changed(agentID string) {
	s.markStale(agentID)
	s.hub.Publish(Key(agentID), anyChanged)
}

// Refresh has the next Get read the agent's rows, for who knows that they changed.
func (s *Store) Refresh(agentID string) { s.markStale(agentID) }

func (s *Store) markStale(agentID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.agents[agentID]; e != nil {
		e.stale = true
	}
}

// Run finds the changes that other processes made, until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	waiter := s.hub.Wait(anyChanged)
	defer waiter.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-waiter.C:
		case <-time.After(time.Second):
		}
		if err := s.compareVersions(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("policy versions could not be read", "error", err)
		}
	}
}

func (s *Store) compareVersions(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `SELECT id, policy_version, created_at FROM agents`)
	if err != nil {
		return err
	}
	var id string
	var now Snapshot
	current := map[string]Snapshot{}
	if _, err := pgx.ForEachRow(rows, []any{&id, &now.Version, &now.born}, func() error {
		current[id] = now
		return nil
	}); err != nil {
		return err
	}
	for _, agentID := range s.outdated(current) {
		s.markStale(agentID)
		s.hub.WakeLocal(Key(agentID))
	}
	return nil
}

func (s *Store) outdated(current map[string]Snapshot) []string {
	s.mu.Lock()
	entries := make(map[string]*entry, len(s.agents))
	for id, e := range s.agents {
		entries[id] = e
	}
	s.mu.Unlock()

	var ids []string
	for id, e := range entries {
		e.mu.Lock()
		now := current[id]
		if e.set == nil || e.set.Version != now.Version || !e.set.born.Equal(now.born) {
			ids = append(ids, id)
		}
		e.mu.Unlock()
	}
	return ids
}
