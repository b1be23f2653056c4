package approvals_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

func TestAskStoresTheQuestionAndAllThatFollows(t *testing.T) {
	w := newWorld(t)
	w.person("second", "main", policy.Owner)
	w.exec(`INSERT INTO user_identities (channel, channel_user_id, user_id) VALUES ('mail', 'olga@x', $1)`, w.olga)
	w.person("guest", "main", policy.Guest)
	r := w.ask(w.call(`{"branch":"main","token":"hush"}`, ruleSays(policy.ApprovalSettings{DeadlineMinutes: 5, TTLMinutes: 7})))

	if r.Status != approvals.Pending || r.ShortID != 1 || r.Version != 1 || r.TTLMinutes != 7 || r.ExpiresAt.Sub(r.CreatedAt) != 5*time.Minute {
		t.Errorf("request %+v", r)
	}
	var payload map[string]any
	w.ok(json.Unmarshal([]byte(w.column(`SELECT payload::text FROM session_events WHERE session_id = 's1' AND type = 'approval_requested'`)[0]), &payload))
	want := map[string]any{
		"requestId": r.ID, "shortId": 1.0, "resourceType": "tool", "resourceKey": "mcp__git__push", "mode": "async",
		"args": map[string]any{"branch": "main", "token": "[hidden]"}, "argsSize": 32.0, "expiresAt": r.ExpiresAt.Format(time.RFC3339Nano),
	}
	if diff := cmp.Diff(want, payload); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	audited := w.column(`SELECT actor || ' ' || (data ->> 'argsDigest') FROM audit_queue WHERE kind = 'approval_requested'`)
	if diff := cmp.Diff([]string{"agent:main " + r.ArgsDigest}, audited); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	addresses := w.column(`SELECT channel || ':' || identity FROM card_deliveries ORDER BY 1`)
	if diff := cmp.Diff([]string{"chat:olga", "chat:second", "mail:olga@x"}, addresses); diff != "" {
		t.Errorf("cards (-want +got):\n%s", diff)
	}
	if n := w.count(`SELECT count(*) FROM river.river_job j JOIN card_deliveries d ON d.id = j.args ->> 'deliveryId'
		WHERE j.kind = 'approval_deliver' AND j.queue = 'cards'`); n != 3 {
		t.Errorf("%d deliver jobs, want 3", n)
	}
	if n := w.count(`SELECT count(*) FROM river.river_job WHERE kind = 'approval_expire' AND args ->> 'requestId' = $1
		AND scheduled_at = $2`, r.ID, r.ExpiresAt); n != 1 {
		t.Errorf("%d expiry jobs at the deadline, want 1", n)
	}
}

func TestAskLeavesNothingWhenItsJobsFail(t *testing.T) {
	w := newWorld(t)
	w.svc.Jobs = brokenQueue{}
	if _, err := w.svc.Ask(ctx, w.call(`{}`)); !errors.Is(err, errQueue) {
		t.Fatalf("error %v, want the queue's", err)
	}
	for _, table := range []string{"approval_requests", "sessions", "session_events", "card_deliveries", "river.river_job"} {
		if n := w.count(`SELECT count(*) FROM ` + table); n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind LIKE 'approval%'`); n != 0 {
		t.Errorf("%d audit records left", n)
	}
}

func TestAskRefusesAnAgentThatIsGoneAndAForeignSession(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	_, err := w.svc.Ask(ctx, w.call(`{}`, func(c *approvals.Call) { c.Session.AgentID = "gone" }))
	refused(t, err, fault.NotFound, "not_found")
	w.ask(w.call(`{}`))
	_, err = w.svc.Ask(ctx, w.call(`{}`, by("u9"), inSession("s1")))
	refused(t, err, fault.NotFound, "not_found")
	_, err = w.svc.Ask(ctx, w.call(`{}`, func(c *approvals.Call) { c.Session.AgentID = "other" }))
	refused(t, err, fault.NotFound, "not_found")
}

func TestShortIDsCountForEachAgent(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	ofOther := func(c *approvals.Call) { c.Session.AgentID, c.Session.ID = "other", "o1" }
	var got []int
	for _, c := range []approvals.Call{w.call(`{"n":1}`), w.call(`{"n":2}`), w.call(`{"n":1}`, ofOther), w.call(`{"n":3}`)} {
		got = append(got, w.ask(c).ShortID)
	}
	if diff := cmp.Diff([]int{1, 2, 1, 3}, got); diff != "" {
		t.Error(diff)
	}
	for _, number := range []int{0, -1, 4, 1 << 40} {
		_, err := approvals.GetShort(ctx, w.pool, "main", number)
		refused(t, err, fault.NotFound, "not_found")
	}
	if r, err := approvals.GetShort(ctx, w.pool, "other", 1); err != nil || r.AgentID != "other" {
		t.Errorf("request %+v, error %v", r, err)
	}
}

func TestTheSameCallAttachesAndAnotherDoesNot(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		call approvals.Call
		same bool
	}{
		"again":              {w.call(`{"a":1,"b":2}`), true},
		"another order":      {w.call(`{ "b":2, "a":1 }`), true},
		"another session":    {w.call(`{"a":1,"b":2}`, inSession("s2")), false},
		"other arguments":    {w.call(`{"a":1,"b":3}`), false},
		"another spelling":   {w.call(`{"a":1.0,"b":2}`), false},
		"another requester":  {w.call(`{"a":1,"b":2}`, by("u1")), false},
		"another version":    {w.call(`{"a":1,"b":2}`, ruleVersion(2)), false},
		"another rule":       {w.call(`{"a":1,"b":2}`, func(c *approvals.Call) { c.Rule.ID = "rule-2" }), false},
		"another tool":       {w.call(`{"a":1,"b":2}`, func(c *approvals.Call) { c.ResourceKey = "mcp__git__pull" }), false},
		"another type":       {w.call(`{"a":1,"b":2}`, func(c *approvals.Call) { c.ResourceType = "mcp" }), false},
		"requester and tool": {w.call(`{"a":1,"b":2}`, by("agent:main\",\"tool")), false},
	} {
		first := w.ask(w.call(`{"a":1,"b":2}`)) // anew, where another rule asked about it
		if got := w.ask(c.call); (got.ID == first.ID) != c.same {
			t.Errorf("%s: the same request is %v, want %v", name, got.ID == first.ID, c.same)
		}
	}
}

func TestConcurrentIdenticalAsksShareOneQuestion(t *testing.T) {
	w := newWorld(t)
	call := w.call(`{"n":1}`)
	ids := make([]string, 20)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			r, err := w.svc.Ask(ctx, call)
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.ID
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] != ids[19] || ids[0] == "" {
		t.Errorf("requests %v, want one", ids)
	}
	if n := w.count(`SELECT count(*) FROM card_deliveries`); n != 1 {
		t.Errorf("%d cards, want 1", n)
	}
}
