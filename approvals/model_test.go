package approvals_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holm/approvals"
	"holm/policy"
)

// state is what both the model and the database know of one request.
type state struct {
	Status                            approvals.Status
	Resolution                        policy.Resolution
	Claimed, Finished, Told           bool
	Outcome                           approvals.Outcome
	Grants, Left /* -1: any */, Total int
}

// modelled is a request in the model.
type modelled struct {
	state
	id, call string
	overdue  bool
}

// model is the life of requests of one agent as the design tells it, in memory.
type model struct {
	*world
	rt    *rapid.T
	agent string
	list  []*modelled
}

// answers is the rule for a retry, without its times, which do not pass here.
func (m *modelled) answers() bool {
	switch {
	case m.Status == approvals.Expired || m.Status == approvals.Cancelled:
		return !m.Told
	case m.Status != approvals.Approved || !m.Finished:
		return true
	case m.Outcome == approvals.Unknown:
		return !m.Told
	}
	return m.Resolution == policy.Single
}

func (m *model) pick() *modelled {
	if len(m.list) == 0 {
		return nil
	}
	return rapid.SampledFrom(m.list).Draw(m.rt, "request")
}

func (m *model) ask() {
	call := rapid.SampledFrom([]string{"a", "b"}).Draw(m.rt, "call")
	got, err := m.svc.Ask(ctx, m.world.call(`{"call":"`+call+`"}`, func(c *approvals.Call) {
		c.Session.AgentID, c.Session.ID = m.agent, "of "+m.agent
	}))
	m.ok(err)
	var latest *modelled
	for _, r := range m.list {
		if r.call == call {
			latest = r
		}
	}
	if latest != nil {
		m.expire(latest)
	}
	if latest == nil || !latest.answers() {
		latest = &modelled{state: state{Status: approvals.Pending}, id: got.ID, call: call}
		m.list = append(m.list, latest)
		if got.ShortID != len(m.list) {
			m.rt.Fatalf("number %d, want %d", got.ShortID, len(m.list))
		}
	}
	if got.ID != latest.id {
		m.rt.Fatalf("asked for %s and got request %d", call, got.ShortID)
	}
}

// expire is what anybody who meets an overdue question does to it.
func (m *model) expire(r *modelled) bool {
	if r.Status == approvals.Pending && r.overdue {
		r.Status = approvals.Expired
		return true
	}
	return false
}

func (m *model) decide(r *modelled) {
	resolution := rapid.SampledFrom([]policy.Resolution{"", policy.Single, policy.Once, policy.Persistent}).Draw(m.rt, "resolution")
	_, err := m.svc.Decide(ctx, approvals.Decision{AgentID: m.agent, RequestID: r.id,
		Approve: resolution != "", Resolution: resolution, Actor: operator})
	wins := r.Status == approvals.Pending && !r.overdue
	if (err == nil) != wins {
		m.rt.Fatalf("decided %v, want %v: %v", err == nil, wins, err)
	}
	if m.expire(r); !wins {
		return
	}
	r.Status, r.Resolution = approvals.Rejected, resolution
	if resolution != "" {
		r.Status, r.Grants, r.Left = approvals.Approved, 1, 1
	}
	if resolution == policy.Once {
		r.Left = -1
	}
}

func (m *model) claim(r *modelled) {
	_, ok, err := m.svc.Claim(ctx, r.id)
	m.ok(err)
	if want := r.Status == approvals.Approved && !r.Claimed; ok != want {
		m.rt.Fatalf("claimed %v, want %v", ok, want)
	}
	if ok {
		m.count(r, 1)
		r.Claimed = true
	}
}

// count books n uses of the grant.
func (m *model) count(r *modelled, n int) {
	r.Total += n
	if r.Left >= 0 {
		r.Left -= n
	}
}

func (m *model) finish(r *modelled) {
	outcome := rapid.SampledFrom([]approvals.Outcome{approvals.Succeeded, approvals.Failed, approvals.Unknown}).Draw(m.rt, "outcome")
	err := m.svc.Finish(ctx, r.id, outcome, nil)
	can := r.Claimed && (!r.Finished || r.Outcome == approvals.Unknown)
	if (err == nil) != can {
		m.rt.Fatalf("finished %v, want %v: %v", err == nil, can, err)
	}
	if can {
		r.Finished, r.Outcome = true, outcome
	}
}

func (m *model) release(r *modelled) {
	m.ok(m.svc.Release(ctx, r.id))
	if r.Claimed && !r.Finished {
		m.count(r, -1)
		r.Claimed = false
	}
}

func (m *model) tell(r *modelled) {
	m.ok(m.svc.Told(ctx, r.id))
	r.Told = r.Told || r.Finished || r.Status != approvals.Pending && r.Status != approvals.Approved
}

// agrees compares every request with its row.
func (m *model) agrees() {
	for _, r := range m.list {
		var got state
		m.ok(m.pool.QueryRow(ctx, `
			SELECT r.status, COALESCE(r.resolution, ''), r.claimed_at IS NOT NULL, r.finished_at IS NOT NULL,
			       r.told_at IS NOT NULL, COALESCE(r.outcome, ''), count(g.id),
			       COALESCE(sum(COALESCE(g.uses_left, -1)) FILTER (WHERE g.id IS NOT NULL), 0), COALESCE(sum(g.uses), 0)
			FROM approval_requests r
			LEFT JOIN approval_grants g ON g.request_id = r.id AND g.policy_id IS NULL
			WHERE r.id = $1
			GROUP BY r.id`, r.id).Scan(&got.Status, &got.Resolution, &got.Claimed, &got.Finished,
			&got.Told, &got.Outcome, &got.Grants, &got.Left, &got.Total))
		if diff := cmp.Diff(r.state, got); diff != "" {
			m.rt.Fatalf("request for %s (-model +database):\n%s", r.call, diff)
		}
	}
	if n := m.world.count(`SELECT count(*) FROM approval_requests WHERE agent_id = $1`, m.agent); n != len(m.list) {
		m.rt.Fatalf("%d requests, want %d", n, len(m.list))
	}
}

func TestAnyHistoryAgreesWithTheModel(t *testing.T) {
	w := newWorld(t)
	agents := 0
	rapid.Check(t, func(rt *rapid.T) {
		agents++
		m := &model{world: w, rt: rt, agent: fmt.Sprint("agent", agents)}
		w.agent(m.agent)
		about := func(do func(*modelled)) func() {
			return func() {
				if r := m.pick(); r != nil {
					do(r)
				}
			}
		}
		actions := map[string]func(){
			"ask": m.ask, "decide": about(m.decide), "claim": about(m.claim), "finish": about(m.finish),
			"release": about(m.release), "tell": about(m.tell),
			"pass the deadline": about(func(r *modelled) {
				r.overdue = true
				w.overdue(approvals.Request{ID: r.id})
			}),
			"expire": about(func(r *modelled) {
				_, err := w.svc.Expire(ctx, r.id)
				w.ok(err)
				m.expire(r)
			}),
		}
		names := []string{"ask", "ask", "decide", "decide", "claim", "claim", "finish", "release", "tell", "pass the deadline", "expire"}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 5, 25).Draw(rt, "steps") {
			actions[name]()
			m.agrees()
		}
	})
}
