package approvals

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/policy"
)

// Vote is one person's approval of a request. A rejection is none: it ends the
// request.
type Vote struct {
	RequestID string `json:"-"`
	// Approver is the user who lives on after merges, or "admin".
	Approver   string            `json:"approver"`
	Name       string            `json:"name"`
	Via        string            `json:"via"`
	Resolution policy.Resolution `json:"resolution"`
	Extent     *Extent           `json:"extent,omitempty"`
	Reason     *string           `json:"reason,omitempty"`
	At         time.Time         `json:"at"`
	// Counts is false when the approver may not decide any more, or is by a merge
	// the same person as another.
	Counts bool `json:"counts"`
}

// Votes gives the approvals of requests in the order they came.
func Votes(ctx context.Context, q db.Queryer, requestIDs ...string) ([]Vote, error) {
	rows, err := q.Query(ctx, `
		SELECT v.request_id, COALESCE(voter.merged_into, v.approver), v.name, v.via, v.resolution, v.extent, v.reason, v.at,
		       (v.approver = 'admin' OR approval_stands(v.approver, `+aboutR+`))
		       AND 1 = row_number() OVER (PARTITION BY v.request_id, COALESCE(voter.merged_into, v.approver) ORDER BY v.at)
		FROM approval_votes v
		JOIN approval_requests r ON r.id = v.request_id
		LEFT JOIN users voter ON voter.id = v.approver
		WHERE v.request_id = ANY ($1)
		ORDER BY v.request_id, v.at`, requestIDs)
	if err != nil {
		return nil, fmt.Errorf("read votes: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Vote])
}

// Counted are the votes that count towards the quorum now.
func (r Request) Counted() []Vote {
	return slices.DeleteFunc(slices.Clone(r.Votes), func(v Vote) bool { return !v.Counts })
}

// enough tells whether the quorum is reached now.
func (r Request) enough() bool { return len(r.Counted()) >= r.Settings.Needed() }

// verdict is what a decision makes of its request.
type verdict struct {
	// status is Pending while further approvals are needed.
	status     Status
	resolution *policy.Resolution
	extent     *Extent
	votes      []Vote
	// again: the approver's vote is there already.
	again bool
}

// judge counts d, which approver gives, with the votes that stand; the request is
// locked. A second approval of one person is refused, unless enough stand without
// it: a voter may have got back a role that was missing when the last vote was
// counted, and then nobody else might be left to move the request.
func judge(r Request, d Decision, approver string) (v verdict, refused error) {
	if !d.Approve {
		return verdict{status: Rejected, votes: r.Votes}, nil
	}
	own := Vote{RequestID: r.ID, Approver: approver, Name: d.Actor.Name, Via: d.Actor.Via, Resolution: d.Resolution, Counts: true}
	if d.Resolution == policy.Persistent {
		own.Extent = &d.Extent
	}
	earlier, voted := r.voteOf(own.Approver)
	if voted && !r.enough() {
		return v, alreadyVoted(r, earlier)
	}
	counted := append(r.Counted(), own)
	if !voted {
		r.Votes = append(slices.Clone(r.Votes), own)
	}
	v = verdict{status: Pending, votes: r.Votes, again: voted}
	if !r.enough() {
		return v, nil
	}
	narrowest := slices.MinFunc(counted, func(a, b Vote) int { return a.width() - b.width() })
	v.status, v.resolution, v.extent = Approved, &narrowest.Resolution, narrowest.Extent
	return v, nil
}

// voteOf is the approval that somebody, by the id they live on as, has given before.
func (r Request) voteOf(approver string) (Vote, bool) {
	i := slices.IndexFunc(r.Votes, func(v Vote) bool { return v.Approver == approver })
	if i < 0 {
		return Vote{}, false
	}
	return r.Votes[i], true
}

// ApprovedBy tells whether somebody, by the id they live on as, has approved r.
func (r Request) ApprovedBy(userID string) bool {
	_, voted := r.voteOf(userID)
	return voted
}

// width orders what votes allow: one call, for a time, these arguments for good,
// the tool for good.
func (v Vote) width() int {
	width := slices.Index([]policy.Resolution{policy.Single, policy.Once, policy.Persistent}, v.Resolution) * 2
	if v.Extent != nil && *v.Extent == WholeTool {
		width++
	}
	return width
}

func alreadyVoted(r Request, v Vote) error {
	return &fault.Error{Kind: fault.Conflict, Code: "already_voted",
		Message: fmt.Sprintf("you approved request %d already; %s", r.ShortID, r.Tally()),
		Data:    map[string]any{"votedAt": v.At, "approvals": len(r.Counted()), "quorum": r.Settings.Needed()}}
}

// Tally says in words how many approvals r has of those it needs.
func (r Request) Tally() string {
	return fmt.Sprintf("%d of %d approvals", len(r.Counted()), r.Settings.Needed())
}

// queueVoted has the batch b write the record of a vote, be it the last or not.
func queueVoted(ctx context.Context, b *pgx.Batch, r Request, d Decision) error {
	return audit.Queue(ctx, b, audit.Record{Kind: "approval_vote", AgentID: r.AgentID, Actor: d.Actor.ID(), Data: map[string]any{
		"requestId": r.ID, "shortId": r.ShortID, "sessionId": r.SessionID, "name": d.Actor.Name, "via": d.Actor.Via,
		"resolution": d.Resolution, "reason": d.Reason, "approvals": len(r.Counted()), "quorum": r.Settings.Needed(),
	}})
}

// voters names those whose votes count.
func (r Request) voters() string {
	var names []string
	for _, v := range r.Counted() {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}
