package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/redact"
	"holm/policy"
)

// Wire is a request as every surface shows it. Arguments are redacted.
type Wire struct {
	ID            string `json:"id"`
	ShortID       int    `json:"shortId"`
	AgentID       string `json:"agentId"`
	SessionID     string `json:"sessionId"`
	RequesterID   string `json:"requesterId"`
	RequesterName string `json:"requesterName"`
	// ByKey is the prefix of the agent's own key with which a program asked on behalf
	// of the requester.
	ByKey        string          `json:"byKey,omitempty"`
	ResourceType string          `json:"resourceType"`
	ResourceKey  string          `json:"resourceKey"`
	Scope        json.RawMessage `json:"scope"`
	Args         json.RawMessage `json:"args"`
	ArgsDigest   string          `json:"argsDigest"`
	// Claim is what the agent says of its call, in its own words.
	Claim        string             `json:"claim,omitempty"`
	Status       Status             `json:"status"`
	Resolution   *policy.Resolution `json:"resolution,omitempty"`
	Extent       *Extent            `json:"extent,omitempty"`
	ResolvedBy   *string            `json:"resolvedBy,omitempty"`
	ResolvedName *string            `json:"resolvedName,omitempty"`
	ResolvedVia  *string            `json:"resolvedVia,omitempty"`
	Reason       *string            `json:"reason,omitempty"`
	// TryDifferently is a rejection that invites another proposal.
	TryDifferently bool       `json:"tryDifferently,omitempty"`
	CreatedAt      time.Time  `json:"createdAt"`
	ExpiresAt      time.Time  `json:"expiresAt"`
	ResolvedAt     *time.Time `json:"resolvedAt,omitempty"`
	TTLMinutes     int        `json:"ttlMinutes"`
	Outcome        *Outcome   `json:"outcome,omitempty"`
	// Changed is what came between this question and an earlier one about the call.
	Changed string `json:"changed,omitempty"`
	// Stopped is why what was approved lets no call through any more, or did not.
	Stopped *string `json:"stopped,omitempty"`
	// DuplicateOf is the question whose card, answer and execution it shares.
	DuplicateOf *string `json:"duplicateOf,omitempty"`
	// DuplicateOfNumber is that question's shortId.
	DuplicateOfNumber int `json:"duplicateOfNumber,omitempty"`
	// UndeliveredAt is since when nobody who may answer could be reached.
	UndeliveredAt *time.Time `json:"undeliveredAt,omitempty"`
	// Asked is how many asks share the card, its own included.
	Asked      int        `json:"asked"`
	Deliveries []Delivery `json:"deliveries"`
	// AwaitingReason tells that a reviewer is writing a reason: nobody else can
	// decide before Until.
	AwaitingReason *AwaitingReason `json:"awaitingReason,omitempty"`
	// Quorum is how many people must approve; Votes are those who have.
	Quorum        int        `json:"quorum"`
	Votes         []Vote     `json:"votes"`
	RequireReason bool       `json:"requireReason"`
	EscalatedAt   *time.Time `json:"escalatedAt,omitempty"`
}

// AwaitingReason is a Hold as callers see it.
type AwaitingReason struct {
	By    string    `json:"by"`
	Name  string    `json:"name"`
	Via   string    `json:"via"`
	Until time.Time `json:"until"`
}

// Delivery is where a card of the request is and what became of it.
type Delivery struct {
	RequestID string     `json:"-"`
	Channel   string     `json:"channel"`
	Identity  string     `json:"identity"`
	State     string     `json:"state"`
	Attempts  int        `json:"attempts"`
	LastError string     `json:"lastError,omitempty"`
	SentAt    *time.Time `json:"sentAt,omitempty"`
}

// OnWire gives requests the form of the wire, with their deliveries and votes.
// Those of a duplicate, and what ran, are its question's.
func OnWire(ctx context.Context, q db.Queryer, requests ...Request) ([]Wire, error) {
	questions := make([]string, len(requests))
	for i, r := range requests {
		questions[i] = r.Question()
	}
	rows, err := q.Query(ctx, `
		SELECT request_id, channel, identity, state, attempts, last_error, sent_at
		FROM card_deliveries
		WHERE request_id = ANY ($1)
		ORDER BY channel, identity`, questions)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	deliveries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Delivery])
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	byQuestion := map[string][]Delivery{}
	for _, d := range deliveries {
		byQuestion[d.RequestID] = append(byQuestion[d.RequestID], d)
	}
	votes, err := Votes(ctx, q, questions...)
	if err != nil {
		return nil, err
	}
	votesOf := map[string][]Vote{}
	for _, v := range votes {
		votesOf[v.RequestID] = append(votesOf[v.RequestID], v)
	}
	wires := make([]Wire, len(requests))
	for i, r := range requests {
		r.Votes = votesOf[r.Question()]
		wires[i] = r.wire(byQuestion[r.Question()])
	}
	return wires, addQuestions(ctx, q, wires)
}

// addQuestions completes duplicates from the questions that they share.
func addQuestions(ctx context.Context, q db.Queryer, wires []Wire) error {
	shared := map[string][]*Wire{}
	for i, w := range wires {
		if w.DuplicateOf != nil {
			shared[*w.DuplicateOf] = append(shared[*w.DuplicateOf], &wires[i])
		}
	}
	if len(shared) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, `
		SELECT id, short_id, outcome
		FROM approval_requests
		WHERE id = ANY ($1)`, slices.Collect(maps.Keys(shared)))
	if err != nil {
		return fmt.Errorf("read shared questions: %w", err)
	}
	var id string
	var number int
	var outcome *Outcome
	_, err = pgx.ForEachRow(rows, []any{&id, &number, &outcome}, func() error {
		for _, w := range shared[id] {
			w.DuplicateOfNumber = number
			if w.Status == Approved {
				w.Outcome = outcome
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read shared questions: %w", err)
	}
	return nil
}

func (r Request) wire(deliveries []Delivery) Wire {
	if deliveries == nil {
		deliveries = []Delivery{}
	}
	var awaiting *AwaitingReason
	if h := r.Held(); h != nil {
		awaiting = &AwaitingReason{By: h.By, Name: h.Name, Via: h.Via, Until: h.Until}
	}
	status := r.Status
	if r.Overdue() {
		status = Expired // the job that ends it may not have run yet
	}
	return Wire{
		ID: r.ID, ShortID: r.ShortID, AgentID: r.AgentID, SessionID: r.SessionID,
		RequesterID: r.RequesterID, RequesterName: r.RequesterName, ByKey: r.ByKey,
		ResourceType: r.ResourceType, ResourceKey: r.Resource(),
		Scope: r.Scope, Args: r.Shown(), ArgsDigest: r.ArgsDigest, Claim: redact.Text(r.Claim),
		Status: status, Resolution: r.Resolution, Extent: r.Extent,
		ResolvedBy: r.ResolvedBy, ResolvedName: r.ResolvedName, ResolvedVia: r.ResolvedVia, Reason: r.Reason, TryDifferently: r.TryDifferently,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, ResolvedAt: r.ResolvedAt,
		TTLMinutes: r.TTLMinutes, Outcome: r.Outcome, Changed: r.Settings.Changed, Stopped: r.Stopped, DuplicateOf: r.DuplicateOf, Asked: r.Asked, UndeliveredAt: r.UndeliveredAt, Deliveries: deliveries, AwaitingReason: awaiting,
		Quorum: r.Settings.Needed(), Votes: append([]Vote{}, r.Votes...),
		RequireReason: r.Settings.RequireReason, EscalatedAt: r.EscalatedAt,
	}
}
