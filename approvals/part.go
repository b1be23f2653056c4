package approvals

import (
	"context"
	"errors"
	"fmt"

	"holm/internal/fault"
)

// partDuplicates ends the open duplicates that share somebody else's question: a
// merge of two people was undone after they were made. Neither answer nor execution
// is theirs any more; the same call, made again, is a question of its own.
func (s *Service) partDuplicates(ctx context.Context) error {
	ids, err := s.ids(ctx, `
		SELECT r.id
		FROM approval_requests r
		JOIN approval_requests q ON q.id = r.duplicate_of
		LEFT JOIN users asker ON asker.id = r.requester_id
		LEFT JOIN users first ON first.id = q.requester_id
		WHERE r.status = 'pending'
		  AND r.requester_id <> q.requester_id
		  AND COALESCE(asker.merged_into, r.requester_id) <> COALESCE(first.merged_into, q.requester_id)
		LIMIT 1000`)
	if err != nil {
		return fmt.Errorf("find duplicates of others' questions: %w", err)
	}
	var failed error
	for _, id := range ids {
		r, err := Lookup(ctx, s.Pool, id)
		if err == nil {
			_, err = s.Cancel(ctx, Cancellation{
				AgentID: r.AgentID, RequestID: r.ID, parted: true, Actor: holm,
				Reason: "It shared the question of somebody who is another person again. Ask again.",
			})
		}
		if _, known := fault.As(err); !known { // answered or ended meanwhile
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
