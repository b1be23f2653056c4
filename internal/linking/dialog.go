package linking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/secret"
	"holm/policy"
)

// TTL is how long a token can be presented, and then how long the sides have to
// answer.
const TTL = 10 * time.Minute

// Side is one who says that the other side is the same person: a user, and the
// address they spoke from, zero when it was no chat.
type Side struct {
	UserID string
	identity.Address
	// Yes is how often they have said so.
	Yes int
}

// Dialog is one question to two sides: are you one person?
type Dialog struct {
	ID      string
	AgentID string
	// A asked for the token, B presented it.
	A, B      Side
	State     string
	ExpiresAt time.Time
}

// The states of a dialog.
const (
	Asked     = "asked"
	Presented = "presented"
	Linked    = "linked"
	Refused   = "refused"
)

// QuestionArgs puts the question of a dialog to one address of a side. Worked by
// package bot.
type QuestionArgs struct {
	DialogID string `json:"dialogId"`
	AgentID  string `json:"agentId"`
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	// Final is the second question, to somebody who owns an agent.
	Final bool `json:"final"`
}

// Kind names the job in River's table.
func (QuestionArgs) Kind() string { return "link_question" }

var errToken = fault.New(fault.Gone, "link_invalid",
	"this token is not valid: it may have been used or have expired; ask for a new one with link")

// Request begins a dialog and gives the only copy of its token. One that the
// side began before is over. A user without an address on any channel, who could
// not be asked, is Invalid.
func (s *Service) Request(ctx context.Context, agentID string, side Side) (token string, err error) {
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) error {
		if err := reachable(ctx, tx, side.UserID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE link_dialogs
			SET state = 'refused'
			WHERE a_user = $1
			  AND state = 'asked'`, side.UserID)
		if err != nil {
			return fmt.Errorf("end earlier dialogs: %w", err)
		}
		token = secret.Token()
		_, err = tx.Exec(ctx, `
			INSERT INTO link_dialogs (id, agent_id, token_hash, a_user, a_channel, a_identity, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, now() + $7)`,
			uuid.Must(uuid.NewV7()).String(), agentID, secret.Hash(token), side.UserID, side.Channel, side.Identity, TTL)
		if err != nil {
			return fmt.Errorf("store link dialog: %w", err)
		}
		return audit.Write(ctx, tx, audit.Record{Kind: "link_requested", AgentID: agentID, Actor: "user:" + side.UserID,
			Data: map[string]any{"userId": side.UserID, "address": side.Address}})
	})
	if err != nil {
		return "", err
	}
	s.approvals.Hub.Publish(audit.QueuedKey)
	return token, nil
}

func reachable(ctx context.Context, q db.Queryer, userID string) error {
	addresses, err := identity.Addresses(ctx, q, userID)
	if err == nil && len(addresses) == 0 {
		err = fault.Invalidf("nobody could be asked: this user has no account on a channel; an owner can merge users (user_merge)")
	}
	return err
}

// Present takes a token from the other side and puts the question to both. It
// is checked before it is used up: a token that is wrong, used or expired is
// Gone, one of the same person a Conflict, and then it is as good as before. The
// same side presenting it again is told so of the same dialog. side.UserID may
// be empty for an address nobody knows, who then becomes a user without a role.
func (s *Service) Present(ctx context.Context, token string, side Side, name string) (d Dialog, err error) {
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) error {
		if d, err = read(ctx, tx, `token_hash = $1`, secret.Hash(token)); err != nil {
			return err
		}
		if d.State != Asked {
			if d.State == Presented && d.B.Address == side.Address && (side.UserID == "" || d.B.UserID == side.UserID) {
				return nil
			}
			return errToken
		}
		if err := s.admissible(ctx, tx, &d, &side, name); err != nil {
			return err
		}
		d.B, d.State = side, Presented
		_, err := tx.Exec(ctx, `
			UPDATE link_dialogs
			SET state = 'presented',
			    b_user = $2,
			    b_channel = $3,
			    b_identity = $4,
			    expires_at = now() + $5
			WHERE id = $1`, d.ID, side.UserID, side.Channel, side.Identity, TTL)
		if err != nil {
			return fmt.Errorf("present link token: %w", err)
		}
		if err := s.ask(ctx, tx, d, false, d.A, d.B); err != nil {
			return err
		}
		return d.record(ctx, tx, "link_presented", side.UserID)
	})
	if err == nil {
		s.approvals.Hub.Publish(audit.QueuedKey)
	}
	return d, err
}

// admissible refuses a token that is of no use to who presents it.
func (s *Service) admissible(ctx context.Context, tx pgx.Tx, d *Dialog, side *Side, name string) error {
	if !d.stands(ctx, tx, d.A) {
		return errToken
	}
	if side.UserID == "" {
		user, err := identity.EnsureUser(ctx, tx, side.Address, name)
		if err != nil {
			return err
		}
		side.UserID = user.ID
	}
	same, err := identity.Same(ctx, tx, d.A.UserID, side.UserID)
	if err != nil {
		return err
	}
	if same {
		return fault.New(fault.Conflict, "same_person", "this token is your own; send it from the account that you want to link")
	}
	return reachable(ctx, tx, side.UserID)
}

// stands tells whether a side still is who it was when it spoke.
func (d Dialog) stands(ctx context.Context, q db.Queryer, side Side) bool {
	if side.Channel == "" {
		return true
	}
	user, ok, err := identity.FindUser(ctx, q, side.Address)
	if err != nil || !ok {
		return false
	}
	same, err := identity.Same(ctx, q, user.ID, side.UserID)
	return err == nil && same
}

// merged tells whether the sides are one person, as they were when the dialog
// ended.
func (d Dialog) merged(ctx context.Context, q db.Queryer) bool {
	same, err := identity.Same(ctx, q, d.A.UserID, d.B.UserID)
	return err == nil && same
}

// read gives a dialog and locks it; one that is over by its time is Gone, like
// one that never was.
func read(ctx context.Context, tx pgx.Tx, where string, arg any) (d Dialog, err error) {
	var bUser, bChannel, bIdentity *string
	err = tx.QueryRow(ctx, `
		SELECT id, agent_id, a_user, a_channel, a_identity, a_yes, b_user, b_channel, b_identity, b_yes, state, expires_at
		FROM link_dialogs
		WHERE `+where+`
		  AND (expires_at > now() OR state = 'linked')
		FOR UPDATE`, arg).Scan(&d.ID, &d.AgentID, &d.A.UserID, &d.A.Channel, &d.A.Identity, &d.A.Yes,
		&bUser, &bChannel, &bIdentity, &d.B.Yes, &d.State, &d.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, errToken
	}
	if err != nil {
		return d, fmt.Errorf("read link dialog: %w", err)
	}
	empty := new(string)
	d.B.UserID, d.B.Channel, d.B.Identity = *cmp.Or(bUser, empty), *cmp.Or(bChannel, empty), *cmp.Or(bIdentity, empty)
	return d, nil
}

// Open finds the newest dialog that waits for an answer of a user who began it or
// presented its token at an address. A side that a key spoke for has none: a plain
// yes in a chat may be meant for the agent, which has that key.
func (s *Service) Open(ctx context.Context, userID string, at identity.Address) (id string, ok bool, err error) {
	ids, err := identity.PersonIDs(ctx, s.approvals.Pool, userID)
	if err != nil {
		return "", false, err
	}
	err = s.approvals.Pool.QueryRow(ctx, `
		SELECT id
		FROM link_dialogs
		WHERE (a_user = ANY($1) AND a_channel = $2 AND a_identity = $3
		    OR b_user = ANY($1) AND b_channel = $2 AND b_identity = $3)
		  AND state = 'presented'
		  AND expires_at > now()
		ORDER BY id DESC
		LIMIT 1`, ids, at.Channel, at.Identity).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return id, err == nil, err
}

// Get reads a dialog for the question about it; one that is over is Gone.
func (s *Service) Get(ctx context.Context, id string) (d Dialog, err error) {
	err = db.InTx(ctx, s.approvals.Pool, func(tx pgx.Tx) error {
		d, err = read(ctx, tx, `id = $1`, id)
		return err
	})
	return d, err
}

// Answer is what one side says. The first yes counts once, however often it is
// said; Final answers the second question and counts when that was put.
type Answer struct {
	DialogID string
	UserID   string
	Yes      bool
	Final    bool
}

// Answer takes an answer in the caller's transaction, and links when both sides
// have said what it takes. done is to be called after the commit.
func (s *Service) Answer(ctx context.Context, tx pgx.Tx, a Answer) (d Dialog, done func(), err error) {
	done = func() { s.approvals.Hub.Publish(audit.QueuedKey) }
	if d, err = read(ctx, tx, `id = $1`, a.DialogID); err != nil {
		return d, done, err
	}
	mine, err := d.side(ctx, tx, a.UserID)
	if err != nil {
		return d, done, err
	}
	switch {
	case d.State == Linked && a.Yes && d.merged(ctx, tx):
		return d, done, nil
	case d.State != Presented:
		return d, done, fault.New(fault.Gone, "dialog_over", "this question is over; nothing was changed")
	case !a.Yes:
		d.State = Refused
		return d, done, s.refuse(ctx, tx, d, a.UserID)
	case !d.stands(ctx, tx, d.A) || !d.stands(ctx, tx, d.B):
		return d, done, fault.New(fault.Gone, "dialog_over", "one of the accounts is not who it was; begin anew with link")
	}
	both := d.A.Yes > 0 && d.B.Yes > 0
	if a.Final && both {
		mine.Yes = 2
	} else {
		mine.Yes = max(mine.Yes, 1)
	}
	if _, err := tx.Exec(ctx, `UPDATE link_dialogs SET a_yes = $2, b_yes = $3 WHERE id = $1`, d.ID, d.A.Yes, d.B.Yes); err != nil {
		return d, done, fmt.Errorf("store answer: %w", err)
	}
	if err := d.record(ctx, tx, "link_confirmed", a.UserID); err != nil {
		return d, done, err
	}
	return s.proceed(ctx, tx, d, !both, done)
}

// proceed asks owners once more when both have said yes for the first time, and
// links when nobody is left to ask.
func (s *Service) proceed(ctx context.Context, tx pgx.Tx, d Dialog, first bool, done func()) (Dialog, func(), error) {
	if d.A.Yes == 0 || d.B.Yes == 0 {
		return d, done, nil
	}
	var open []Side
	for _, side := range []Side{d.A, d.B} {
		owner, err := ownsAny(ctx, tx, side.UserID)
		if err != nil {
			return d, done, err
		}
		if owner && side.Yes < 2 {
			open = append(open, side)
		}
	}
	if len(open) > 0 {
		if !first {
			return d, done, nil
		}
		return d, done, s.ask(ctx, tx, d, true, open...)
	}
	m, err := s.link(ctx, tx, d)
	if err != nil {
		return d, done, err
	}
	d.State = Linked
	return d, func() { s.changed(m) }, nil
}

// link merges the sides. An owner lives on, so that the id that rows and people
// know stays; of two alike, the one who asked.
func (s *Service) link(ctx context.Context, tx pgx.Tx, d Dialog) (m identity.Merge, err error) {
	a, err := identity.GetUser(ctx, tx, d.A.UserID)
	if err != nil {
		return m, err
	}
	b, err := identity.GetUser(ctx, tx, d.B.UserID)
	if err != nil {
		return m, err
	}
	aOwns, err := ownsAny(ctx, tx, a.ID)
	if err != nil {
		return m, err
	}
	bOwns, err := ownsAny(ctx, tx, b.ID)
	if err != nil {
		return m, err
	}
	source, target := b.ID, a.ID
	if bOwns && !aOwns {
		source, target = target, source
	}
	if m, err = s.merge(ctx, tx, source, target, "user:"+a.ID); err != nil {
		return m, err
	}
	_, err = tx.Exec(ctx, `UPDATE link_dialogs SET state = 'linked', merge_number = $2 WHERE id = $1`, d.ID, m.Number)
	if err != nil {
		return m, fmt.Errorf("end link dialog: %w", err)
	}
	return m, nil
}

func (s *Service) refuse(ctx context.Context, tx pgx.Tx, d Dialog, userID string) error {
	if _, err := tx.Exec(ctx, `UPDATE link_dialogs SET state = 'refused' WHERE id = $1`, d.ID); err != nil {
		return fmt.Errorf("end link dialog: %w", err)
	}
	if err := s.tell(ctx, tx, "The accounts stay apart: one side said no. If you did not begin this, somebody tried to link their account to yours.", 0, d.A.UserID, d.B.UserID); err != nil {
		return err
	}
	return d.record(ctx, tx, "link_refused", userID)
}

// side finds which side a user is. Somebody else's dialog looks like none.
func (d *Dialog) side(ctx context.Context, q db.Queryer, userID string) (*Side, error) {
	for _, side := range []*Side{&d.A, &d.B} {
		if side.UserID == "" {
			continue
		}
		if same, err := identity.Same(ctx, q, side.UserID, userID); err != nil || same {
			return side, err
		}
	}
	return nil, errToken
}

// ask puts a question to sides: where they spoke from, else wherever they can be
// written to.
func (s *Service) ask(ctx context.Context, tx pgx.Tx, d Dialog, final bool, sides ...Side) error {
	var jobs []river.InsertManyParams
	for _, side := range sides {
		addresses := []identity.Address{side.Address}
		if side.Channel == "" {
			var err error
			if addresses, err = identity.Addresses(ctx, tx, side.UserID); err != nil {
				return err
			}
		}
		for _, a := range addresses {
			agentID, err := agentOf(ctx, tx, a)
			if err != nil {
				return err
			}
			jobs = append(jobs, job(QuestionArgs{DialogID: d.ID, AgentID: agentID, Channel: a.Channel, Identity: a.Identity, Final: final}))
		}
	}
	return s.queue(ctx, tx, jobs)
}

// Describe names both sides for the question.
func (s *Service) Describe(ctx context.Context, d Dialog) (a, b string, err error) {
	names, err := describe(ctx, s.approvals.Pool, d.A.UserID, d.B.UserID)
	if err != nil {
		return "", "", err
	}
	return names[0], names[1], nil
}

func (d Dialog) record(ctx context.Context, tx pgx.Tx, kind, userID string) error {
	return audit.Write(ctx, tx, audit.Record{Kind: kind, AgentID: d.AgentID, Actor: "user:" + userID,
		Data: map[string]any{"dialogId": d.ID, "a": d.A, "b": d.B}})
}

// ownsAny tells whether a person owns some agent.
func ownsAny(ctx context.Context, q db.Queryer, userID string) (bool, error) {
	roles, err := identity.RolesOf(ctx, q, userID)
	if err != nil {
		return false, err
	}
	for _, r := range roles {
		if r.Role == policy.Owner {
			return true, nil
		}
	}
	return false, nil
}
