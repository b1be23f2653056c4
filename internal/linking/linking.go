// Package linking lets a person show that identities on two channels are theirs:
// the dialog in which both sides say so, the merge of their users, and its
// undoing, with all that follows for people and cards. What a merge means is
// package identity's to say; how people are asked is the bot's.
package linking

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// Service works on links and merges. Its methods may be called concurrently, by
// any number of processes.
type Service struct {
	approvals *approvals.Service
}

// New makes a Service beside that of approvals, on the same database, rules and
// jobs.
func New(a *approvals.Service) *Service { return &Service{approvals: a} }

// NewsArgs tells one address something. Worked by package bot.
type NewsArgs struct {
	AgentID  string `json:"agentId"`
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	Text     string `json:"text"`
	// Merge is the merge that the recipient may undo, zero for none.
	Merge int64 `json:"merge,omitempty"`
}

// Kind names the job in River's table.
func (NewsArgs) Kind() string { return "link_news" }

// Merge makes source and target one person, on the word of an actor who may do
// that: the operator, or the owners of the agent claimedBy. Both are told, with
// how to undo it.
func (s *Service) Merge(ctx context.Context, source, target, claimedBy, actor string) (m identity.Merge, err error) {
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) (err error) {
		if claimedBy != "" {
			if err := identity.SpeakFor(ctx, tx, claimedBy, source, target); err != nil {
				return err
			}
		}
		if m, err = s.merge(ctx, tx, source, target, actor); err != nil || claimedBy == "" {
			return err
		}
		return identity.ClaimMerge(ctx, tx, m, claimedBy)
	})
	if err == nil {
		s.changed(m)
	}
	return m, err
}

// merge is Merge in the caller's transaction; call changed after the commit.
func (s *Service) merge(ctx context.Context, tx pgx.Tx, source, target, actor string) (m identity.Merge, err error) {
	before, err := describe(ctx, tx, source, target)
	if err != nil {
		return m, err
	}
	if m, err = identity.MergeUsers(ctx, tx, source, target, actor); err != nil {
		return m, err
	}
	// A new address of an owner is sent what waits.
	for _, agentID := range m.Agents {
		role, err := identity.RoleOf(ctx, tx, agentID, target)
		if err != nil {
			return m, err
		}
		if role != policy.Owner {
			continue
		}
		if err := s.approvals.DeliverOpen(ctx, tx, agentID); err != nil {
			return m, err
		}
	}
	text := fmt.Sprintf("Linked: %s and %s are one person now, with what both had. If that is wrong, undo it within a day: undo %d",
		before[0], before[1], m.Number)
	return m, s.tell(ctx, tx, text, m.Number, target)
}

// Undo takes a merge back, on the word of an actor who may do that. Both are
// told.
func (s *Service) Undo(ctx context.Context, number int64, actor string) (m identity.Merge, err error) {
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) (err error) {
		m, err = s.undo(ctx, tx, number, actor)
		return err
	})
	if err == nil {
		s.changed(m)
	}
	return m, err
}

func (s *Service) undo(ctx context.Context, tx pgx.Tx, number int64, actor string) (m identity.Merge, err error) {
	if m, err = identity.UndoMerge(ctx, tx, number, actor); err != nil {
		return m, err
	}
	after, err := describe(ctx, tx, m.SourceID, m.TargetID)
	if err != nil {
		return m, err
	}
	text := fmt.Sprintf("No longer linked: %s and %s are two people again, each with what they had.", after[0], after[1])
	return m, s.tell(ctx, tx, text, 0, m.SourceID, m.TargetID)
}

// UndoOwn is Undo by one of the people concerned, within identity.UndoTTL. A
// merge of others is NotFound.
func (s *Service) UndoOwn(ctx context.Context, number int64, userID string) (m identity.Merge, err error) {
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) (err error) {
		if m, err = identity.GetMerge(ctx, tx, number); err != nil {
			return err
		}
		if mine, err := ofThem(ctx, tx, userID, m.SourceID, m.TargetID); err != nil || !mine {
			return orElse(err, fault.NotFoundf("no merge %d", number))
		}
		if m.UndoneAt == nil && m.ReadAt.Sub(m.MergedAt) > identity.UndoTTL {
			return fault.New(fault.Gone, "too_late", "merge %d is older than a day; an owner or the operator can still undo it", number)
		}
		m, err = s.undo(ctx, tx, number, "user:"+userID)
		return err
	})
	if err == nil {
		s.changed(m)
	}
	return m, err
}

// changed makes a committed merge, or its undoing, hold everywhere.
func (s *Service) changed(m identity.Merge) {
	for _, agentID := range m.Agents {
		s.approvals.Rules.Changed(agentID)
	}
	s.approvals.Hub.Publish(identity.KeysChanged, audit.QueuedKey)
}

// tell queues a message to every address of some users.
func (s *Service) tell(ctx context.Context, tx pgx.Tx, text string, merge int64, users ...string) error {
	var jobs []river.InsertManyParams
	for _, user := range users {
		addresses, err := identity.Addresses(ctx, tx, user)
		if err != nil {
			return err
		}
		for _, a := range addresses {
			agentID, err := agentOf(ctx, tx, a)
			if err != nil {
				return err
			}
			jobs = append(jobs, job(NewsArgs{AgentID: agentID, Channel: a.Channel, Identity: a.Identity, Text: text, Merge: merge}))
		}
	}
	return s.queue(ctx, tx, jobs)
}

func job(args river.JobArgs) river.InsertManyParams {
	return river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: approvals.CardQueue, MaxAttempts: 25}}
}

func (s *Service) queue(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.approvals.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("queue messages: %w", err)
	}
	return nil
}

// agentOf is the agent whose adapter reaches an address, empty for one of Holm's
// own channels.
func agentOf(ctx context.Context, q db.Queryer, a identity.Address) (agentID string, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE((SELECT agent_id FROM channels WHERE namespace = $1), '')`, a.Channel).Scan(&agentID)
	if err != nil {
		return "", fmt.Errorf("find agent of a channel: %w", err)
	}
	return agentID, nil
}

// describe names users with their addresses, for people.
func describe(ctx context.Context, q db.Queryer, users ...string) ([]string, error) {
	names := make([]string, len(users))
	for i, id := range users {
		user, err := identity.GetUser(ctx, q, id)
		if err != nil {
			return nil, err
		}
		addresses, err := identity.Addresses(ctx, q, id)
		if err != nil {
			return nil, err
		}
		names[i] = fmt.Sprintf("%s %v", user.Name, addresses)
	}
	return names, nil
}

// ofThem tells whether a user is one person with one of others.
func ofThem(ctx context.Context, q db.Queryer, userID string, others ...string) (bool, error) {
	for _, other := range others {
		if same, err := identity.Same(ctx, q, userID, other); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// orElse is err, or what stands for none.
func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Unlink takes an address from a user, on the word of the owners of an agent. One
// that came by a merge undoes the merge.
func (s *Service) Unlink(ctx context.Context, agentID, userID string, a identity.Address, force bool, actor string) error {
	var undone identity.Merge
	err := db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) error {
		if err := identity.SpeakFor(ctx, tx, agentID, userID); err != nil {
			return err
		}
		err := identity.RemoveIdentity(ctx, tx, userID, a, force, actor)
		if number, merged := identity.CameByMerge(err); merged {
			undone, err = s.undo(ctx, tx, number, actor)
		}
		return err
	})
	if err == nil {
		s.changed(undone)
	}
	return err
}

// AddIdentity is identity.AddIdentity; what waits for an owner is sent to the
// new address, and all addresses are told of it.
func (s *Service) AddIdentity(ctx context.Context, tx pgx.Tx, userID string, a identity.Address, claimedBy, actor string) error {
	if claimedBy != "" {
		if err := identity.SpeakFor(ctx, tx, claimedBy, userID); err != nil {
			return err
		}
	}
	if err := identity.AddIdentity(ctx, tx, userID, a, claimedBy, actor); err != nil {
		return err
	}
	roles, err := identity.RolesOf(ctx, tx, userID)
	if err != nil {
		return err
	}
	for _, r := range roles {
		if r.Role != policy.Owner {
			continue
		}
		if err := s.approvals.DeliverOpen(ctx, tx, r.AgentID); err != nil {
			return err
		}
	}
	return s.tell(ctx, tx, fmt.Sprintf("%s is one of your accounts now.", a), 0, userID)
}
