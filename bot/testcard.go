package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/caught"
	"holm/internal/identity"
)

// TestWanted says whom a test reaches: the owners of one agent or of all, on
// one channel or on all.
type TestWanted struct {
	Namespace, AgentID string
}

// Reached tells whether an owner got the test card at one of their addresses.
type Reached struct {
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	Name     string `json:"name"`
	AgentID  string `json:"agentId"`
	Reached  bool   `json:"reached"`
	// Why says why not.
	Why string `json:"why,omitempty"`
}

const (
	// testPatience bounds one test card, testsAtOnce how many are under way.
	testPatience = 20 * time.Second
	testsAtOnce  = 8
)

// Test sends every owner a card that says it is a test, once at each address,
// and tells who got it. What it learns of closed routes is kept.
func (b *Bot) Test(ctx context.Context, want TestWanted) ([]Reached, error) {
	people, err := b.testPeople(ctx, want)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, testsAtOnce)
	for i := range people {
		caught.Go(&wg, b.Log, "test card", func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := b.testOne(ctx, people[i]); err != nil {
				people[i].Why = err.Error()
			}
			people[i].Reached = people[i].Why == ""
		})
	}
	wg.Wait()
	return people, ctx.Err()
}

// testPeople are the addresses of owners, each once: for an adapter's, that of
// an owner of its own agent comes first.
func (b *Bot) testPeople(ctx context.Context, want TestWanted) ([]Reached, error) {
	rows, err := b.Pool.Query(ctx, `
		SELECT DISTINCT ON (i.channel, i.channel_user_id) i.channel, i.channel_user_id, u.name, m.agent_id
		FROM agent_members m
		JOIN users o ON o.id = m.user_id
		JOIN users u ON u.id = COALESCE(o.merged_into, o.id)
		JOIN user_identities i ON i.user_id IN (SELECT id FROM users WHERE COALESCE(merged_into, id) = u.id)
		LEFT JOIN channels c ON c.namespace = i.channel AND c.secrets IS NULL
		WHERE m.role = 'owner'
		  AND ($1 = '' OR i.channel = $1)
		  AND ($2 = '' OR m.agent_id = $2)
		ORDER BY i.channel, i.channel_user_id, (c.agent_id IS NOT DISTINCT FROM m.agent_id) DESC, m.agent_id`,
		want.Namespace, want.AgentID)
	if err != nil {
		return nil, fmt.Errorf("find owners: %w", err)
	}
	people, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Reached, err error) {
		return r, row.Scan(&r.Channel, &r.Identity, &r.Name, &r.AgentID)
	})
	if err != nil {
		return nil, fmt.Errorf("find owners: %w", err)
	}
	return people, nil
}

func (b *Bot) testOne(ctx context.Context, who Reached) error {
	ctx, cancel := context.WithTimeout(ctx, testPatience)
	defer cancel()
	ch, err := b.channel(ctx, who.Channel, who.AgentID)
	if err != nil {
		return err
	}
	if ch == nil {
		return fmt.Errorf("channel %s is not connected for agent %s", who.Channel, who.AgentID)
	}
	address := identity.Address{Channel: who.Channel, Identity: who.Identity}
	_, err = ch.Send(ctx, Recipient{Identity: who.Identity}, testCard(who))
	switch {
	case err == nil:
		return b.openRoute(ctx, address)
	case errors.Is(err, ErrUnreachable):
		return errors.Join(err, b.closeRoute(ctx, b.Pool, address, err.Error()))
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s", testPatience)
	}
	return err
}

// testCard has no buttons: nothing can be decided by it.
func testCard(who Reached) Card {
	return Card{
		Head: "🧪 This is a test",
		Facts: []Fact{
			{Label: "From", Value: "the operator of this Holm"},
			{Label: "You", Value: fmt.Sprintf("%s:%s, owner of agent %s", who.Channel, who.Identity, who.AgentID)},
		},
		Notes: []string{"Questions of this agent reach you here. There is nothing to decide."},
	}
}
