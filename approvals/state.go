package approvals

import "slices"

// Status is where the question stands; the words are those of the wire.
type Status string

const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Rejected  Status = "rejected"
	Expired   Status = "expired"
	Cancelled Status = "cancelled"
)

// Outcome is what became of an approved call.
type Outcome string

const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	// Unknown: the process died, or the connection was lost, after the call had
	// been sent. It may have run; it is never sent again by itself.
	Unknown Outcome = "outcome_unknown"
)

// moves are all the changes of Status there are. Each is made by one
// conditional UPDATE that names the state it leaves, so of two that race
// exactly one happens. A vote that does not complete a quorum is no move: the
// request stays Pending.
var moves = map[Status][]Status{
	Pending: {Approved, Rejected, Expired, Cancelled},
}

// CanMove tells whether a request may go from one status to another.
func CanMove(from, to Status) bool { return slices.Contains(moves[from], to) }
