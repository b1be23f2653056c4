package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/policy"
)

// Wire is a request as every surface shows it. Arguments are redacted.
type Wire struct {
	ID            string             `json:"id"`
	ShortID       int                `json:"shortId"`
	AgentID       string             `json:"agentId"`
	SessionID     string             `json:"sessionId"`
	RequesterID   string             `json:"requesterId"`
	RequesterName string             `json:"requesterName"`
	ResourceType  string             `json:"resourceType"`
	ResourceKey   string             `json:"resourceKey"`
	Scope         json.RawMessage    `json:"scope"`
	Args          json.RawMessage    `json:"args"`
	ArgsDigest    string             `json:"argsDigest"`
	Status        Status             `json:"status"`
	Resolution    *policy.Resolution `json:"resolution,omitempty"`
	Extent        *Extent            `json:"extent,omitempty"`
	ResolvedBy    *string            `json:"resolvedBy,omitempty"`
	ResolvedName  *string            `json:"resolvedName,omitempty"`
	ResolvedVia   *string            `json:"resolvedVia,omitempty"`
	Reason        *string            `json:"reason,omitempty"`
	CreatedAt     time.Time          `json:"createdAt"`
	ExpiresAt     time.Time          `json:"expiresAt"`
	ResolvedAt    *time.Time         `json:"resolvedAt,omitempty"`
	TTLMinutes    int                `json:"ttlMinutes"`
	Outcome       *Outcome           `json:"outcome,omitempty"`
	Deliveries    []Delivery         `json:"deliveries"`
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
func OnWire(ctx context.Context, q db.Queryer, requests ...Request) ([]Wire, error) {
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.ID
	}
	rows, err := q.Query(ctx, `
		SELECT request_id, channel, identity, state, attempts, last_error, sent_at
		FROM card_deliveries
		WHERE request_id = ANY ($1)
		ORDER BY channel, identity`, ids)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	deliveries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Delivery])
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	byRequest := map[string][]Delivery{}
	for _, d := range deliveries {
		byRequest[d.RequestID] = append(byRequest[d.RequestID], d)
	}
	votes, err := Votes(ctx, q, ids...)
	if err != nil {
		return nil, err
	}
	votesOf := map[string][]Vote{}
	for _, v := range votes {
		votesOf[v.RequestID] = append(votesOf[v.RequestID], v)
	}
	wires := make([]Wire, len(requests))
	for i, r := range requests {
		r.Votes = votesOf[r.ID]
		wires[i] = r.wire(byRequest[r.ID])
	}
	return wires, nil
}

func (r Request) wire(deliveries []Delivery) Wire {
	if deliveries == nil {
		deliveries = []Delivery{}
	}
	var awaiting *AwaitingReason
	if h := r.Held(); h != nil {
		awaiting = &AwaitingReason{By: h.By, Name: h.Name, Via: h.Via, Until: h.Until}
	}
	return Wire{
		ID: r.ID, ShortID: r.ShortID, AgentID: r.AgentID, SessionID: r.SessionID,
		RequesterID: r.RequesterID, RequesterName: r.RequesterName,
		ResourceType: r.ResourceType, ResourceKey: r.ResourceKey,
		Scope: r.Scope, Args: r.Args, ArgsDigest: r.ArgsDigest,
		Status: r.Status, Resolution: r.Resolution, Extent: r.Extent,
		ResolvedBy: r.ResolvedBy, ResolvedName: r.ResolvedName, ResolvedVia: r.ResolvedVia, Reason: r.Reason,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, ResolvedAt: r.ResolvedAt,
		TTLMinutes: r.TTLMinutes, Outcome: r.Outcome, Deliveries: deliveries, AwaitingReason: awaiting,
		Quorum: r.Settings.Needed(), Votes: append([]Vote{}, r.Votes...),
		RequireReason: r.Settings.RequireReason, EscalatedAt: r.EscalatedAt,
	}
}
