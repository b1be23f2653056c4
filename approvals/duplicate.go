package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/session"
)

// sharing is how an ask from another session stands to a question.
type sharing int

const (
	// foreign: it has no part in it.
	foreign sharing = iota
	// attached: it has a duplicate that still tells it something.
	attached
	// told: its duplicate ended, and it knows.
	told
	// joined: it has just become a duplicate.
	joined
	// missed: it was to become one, and the question was answered first.
	missed
)

// share gives the duplicate by which the calling session takes part in another
// session's question, making it while the question is open. An approved
// duplicate is none: the question itself is what can be claimed and what ran.
func (s *Service) share(ctx context.Context, tx pgx.Tx, c Call, now situation) (own Request, how sharing, err error) {
	q := now.latest
	own, ok, err := collect(tx.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.duplicate_of = $1
		  AND r.session_id = $2
		ORDER BY r.created_at DESC, r.id DESC
		LIMIT 1`, q.ID, c.Session.ID))
	switch {
	case err != nil:
		return Request{}, foreign, fmt.Errorf("find earlier duplicate: %w", err)
	case ok && own.Status != Approved && own.answers():
		return own, attached, nil
	case q.Status == Pending:
		return s.join(ctx, tx, c, now)
	case ok && own.Status == q.Status && q.Status != Approved:
		return own, told, nil
	}
	return Request{}, foreign, nil
}

// join makes a duplicate of an open question. The question is locked first, by
// the statement that counts the ask: an answer comes before it or finds it.
func (s *Service) join(ctx context.Context, tx pgx.Tx, c Call, now situation) (Request, sharing, error) {
	q, open, err := collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET asked = r.asked + 1,
		    version = r.version + 1
		WHERE r.id = $1
		  AND r.status = 'pending'
		  AND clock_timestamp() < r.expires_at
		RETURNING `+columns, now.latest.ID))
	if err != nil {
		return Request{}, missed, fmt.Errorf("share question: %w", err)
	}
	if !open {
		return Request{}, missed, nil
	}
	r, err := s.create(ctx, tx, c, now, &q)
	if err != nil {
		return Request{}, missed, err
	}
	return r, joined, s.edit(ctx, tx, q)
}

// recount changes how many asks share an open question, and its cards with it.
func (s *Service) recount(ctx context.Context, tx pgx.Tx, id string, by int) error {
	q, ok, err := collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET asked = r.asked + $2,
		    version = r.version + 1
		WHERE r.id = $1
		  AND r.status = 'pending'
		RETURNING `+columns, id, by))
	if err != nil {
		return fmt.Errorf("count asks: %w", err)
	}
	if !ok {
		return nil
	}
	return s.edit(ctx, tx, q)
}

// edit queues the edits of a question's cards.
func (s *Service) edit(ctx context.Context, tx pgx.Tx, q Request) error {
	jobs, err := updateJobs(ctx, tx, q)
	if err != nil {
		return err
	}
	return s.insert(ctx, tx, jobs)
}

// lock takes a request until the transaction ends.
func lock(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `SELECT 1 FROM approval_requests WHERE id = $1 FOR NO KEY UPDATE`, id)
	if err != nil {
		return fmt.Errorf("lock request: %w", err)
	}
	return nil
}

// endDuplicates gives the duplicates of a question its end, the same for all.
func endDuplicates(ctx context.Context, tx pgx.Tx, q Request) ([]Request, error) {
	if q.Asked == 1 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `
		UPDATE approval_requests r
		SET status = q.status,
		    resolution = q.resolution,
		    extent = q.extent,
		    resolved_by = q.resolved_by,
		    resolved_name = q.resolved_name,
		    resolved_via = q.resolved_via,
		    reason = q.reason,
		    stopped = q.stopped,
		    try_differently = q.try_differently,
		    resolved_at = q.resolved_at,
		    version = r.version + 1
		FROM approval_requests q
		WHERE q.id = $1
		  AND r.duplicate_of = q.id
		  AND r.status = 'pending'
		RETURNING `+columns, q.ID)
	if err != nil {
		return nil, fmt.Errorf("end duplicates: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Request])
	if err != nil {
		return nil, fmt.Errorf("end duplicates: %w", err)
	}
	return list, nil
}

// duplicatesOf gives those that share a question or shared it to its end.
func duplicatesOf(ctx context.Context, q db.Queryer, r Request) ([]Request, error) {
	if r.Asked == 1 {
		return nil, nil
	}
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.duplicate_of = $1
		ORDER BY r.id`, r.ID)
	if err != nil {
		return nil, fmt.Errorf("find duplicates: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Request])
	if err != nil {
		return nil, fmt.Errorf("find duplicates: %w", err)
	}
	return list, nil
}

// duplicateKeys are what those wait for whose asks share a question. A reader
// who is not woken looks again by himself, so a failure here loses nothing.
func (s *Service) duplicateKeys(r Request) (keys []string) {
	ctx, cancel := context.WithTimeout(context.Background(), wakeTime)
	defer cancel()
	duplicates, err := duplicatesOf(ctx, s.Pool, r)
	if err != nil {
		s.Log.Warn("those who share a question were not woken", "approval_id", r.ID, "error", err)
	}
	for _, one := range duplicates {
		keys = append(append(keys, session.Keys(one.AgentID, one.SessionID)...), Key(one.ID))
	}
	return keys
}
