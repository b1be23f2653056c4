package approvals_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"holm/approvals"
	"holm/policy"
)

func made(parts map[string]string) func(*approvals.Call) {
	return func(c *approvals.Call) { c.Basis.Made = parts }
}

// TestAnotherBasisIsAnotherQuestion: it has the changes since the earlier one in its
// words, which ends with them, whatever its state was.
func TestAnotherBasisIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	server := map[string]string{approvals.TheServer: "1", "the server's command": "2", "the tool's description": "a"}
	for name, c := range map[string]struct {
		now  func(*approvals.Call)
		want string
	}{
		"a changed rule":    {ruleVersion(2), "the rules for this call changed"},
		"stricter settings": {ruleSays(policy.ApprovalSettings{RequireReason: true}), "the rules for this call changed"},
		"a further rule": {func(c *approvals.Call) {
			c.Basis.Rules = []approvals.RuleVersion{{ID: "rule-1", Version: 1}, {ID: "rule-2", Version: 1}}
		}, "the rules for this call changed"},
		"a command":    {made(map[string]string{approvals.TheServer: "1", "the server's command": "3", "the tool's description": "a"}), "the server's command changed"},
		"two parts":    {made(map[string]string{approvals.TheServer: "1", "the server's command": "3", "the tool's description": "b"}), "the server's command changed, the tool's description changed"},
		"a new part":   {made(map[string]string{approvals.TheServer: "1", "the server's command": "2", "the tool's description": "a", "the tool's annotations": "x"}), "the tool's annotations changed"},
		"a new server": {made(map[string]string{approvals.TheServer: "2"}), "the server was replaced by another of its name"},
	} {
		for state, answer := range map[string]func(*world, approvals.Request){
			"open":     func(*world, approvals.Request) {},
			"approved": func(w *world, r approvals.Request) { w.approve(r, policy.Single) },
			"for a time": func(w *world, r approvals.Request) {
				if !w.claims(w.approve(r, policy.Once)) {
					t.Error("not claimed")
				}
				w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, nil))
			},
			"rejected": func(w *world, r approvals.Request) { w.reject(r) },
		} {
			w := anotherWorld(t)
			first := w.ask(w.call(`{"n":1}`, made(server)))
			shared := w.ask(w.call(`{"n":1}`, made(server), inSession("s2")))
			answer(w, first)
			second := w.ask(w.call(`{"n":1}`, made(server), c.now))
			if second.ID == first.ID || second.Status != approvals.Pending {
				t.Errorf("%s, %s: the answer is that of request %d", name, state, second.ShortID)
			}
			verb := map[bool]string{true: "asked", false: "approved"}[state == "open"]
			if want := c.want + " since request 1 was " + verb; state != "rejected" && (second.Settings.Changed != want || !strings.HasPrefix(second.RuleText, want+"; ")) {
				t.Errorf("%s, %s: %q, why: %q", name, state, second.Settings.Changed, second.RuleText)
			}
			old := w.get(first.ID)
			if (old.Stopped != nil) != (state != "rejected") || old.Stopped != nil && *old.Stopped != c.want+"; asked anew as request 3" {
				t.Errorf("%s, %s: stopped %v", name, state, old.Stopped)
			}
			if dup := w.get(shared.ID); state == "open" && !(old.Superseded() && dup.Superseded()) {
				t.Errorf("%s: left open: %s and %s", name, old.Status, dup.Status)
			}
			if w.claims(old) || len(w.grants()) != 0 {
				t.Errorf("%s, %s: the old answer still lets a call through", name, state)
			}
			if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'approval_superseded'`); (n == 1) != (state == "approved" || state == "for a time") {
				t.Errorf("%s, %s: %d records", name, state, n)
			}
		}
	}
}

// TestAnAlwaysOfAnotherBasisStays: its row answers for itself; what changed is told.
func TestAnAlwaysOfAnotherBasisStays(t *testing.T) {
	w := newWorld(t)
	first := w.approve(w.ask(w.call(`{"n":1}`, made(map[string]string{"the tool's description": "a"}))), policy.Persistent)
	second := w.ask(w.call(`{"n":2}`, made(map[string]string{"the tool's description": "b"})))
	if second.Settings.Changed != "the tool's description changed since request 1 was approved" {
		t.Errorf("changed: %q", second.Settings.Changed)
	}
	if third := w.ask(w.call(`{"n":3}`, made(map[string]string{"the tool's description": "a"}), ruleVersion(2))); third.Settings.Changed != "" {
		t.Errorf("of a call with other arguments, to which other rules may apply: %q", third.Settings.Changed)
	}
	if list := w.grants(); len(list) != 1 || list[0].ID != first.ID || w.get(first.ID).Stopped != nil {
		t.Errorf("grants %+v", list)
	}
}

// TestRulesThatChangedAreToldToTheCaller: a call that was judged by others asks, uses
// and claims nothing.
func TestRulesThatChangedAreToldToTheCaller(t *testing.T) {
	w := newWorld(t)
	judged := func(version int64) func(*approvals.Call) {
		return func(c *approvals.Call) { c.PolicyVersion = version }
	}
	version := int64(w.count(`SELECT policy_version FROM agents WHERE id = 'main'`))
	r := w.approve(w.ask(w.call(`{"n":1}`, judged(version))), policy.Once)
	w.exec(`UPDATE agents SET policy_version = policy_version + 1 WHERE id = 'main'`)
	before, after := w.call(`{"n":1}`, judged(version)), w.call(`{"n":1}`, judged(version+1))
	if _, err := w.svc.Ask(ctx, before); !errors.Is(err, approvals.ErrRulesChanged) {
		t.Errorf("asked: %v", err)
	}
	if _, ok, err := w.svc.Claim(ctx, r, before); ok || !errors.Is(err, approvals.ErrRulesChanged) {
		t.Errorf("claimed: %v, %v", ok, err)
	}
	if n := w.count(`SELECT uses FROM approval_grants`); n != 0 {
		t.Errorf("%d uses", n)
	}
	if _, ok, err := w.svc.Claim(ctx, r, after); !ok || err != nil {
		t.Errorf("by the rules that hold: %v, %v", ok, err)
	}
	w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, nil))
	if _, ok := w.uses(before); ok {
		t.Error("a window was used by rules that hold no more")
	}
	if _, ok := w.uses(after); !ok {
		t.Error("the window is closed")
	}
}

// TestAClaimIsOfWhoAsked: with another requester or other arguments it is another's.
func TestAClaimIsOfWhoAsked(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{"n":1}`)), policy.Single)
	for name, c := range map[string]approvals.Call{
		"another requester": w.call(`{"n":1}`, by("u1")),
		"other arguments":   w.call(`{"n":2}`),
		"another tool":      w.call(`{"n":1}`, func(c *approvals.Call) { c.ResourceKey = "mcp__git__pull" }),
		"outside":           w.call(`{"n":1}`, outside),
		"another rule":      w.call(`{"n":1}`, ruleVersion(2)),
	} {
		if _, ok, err := w.svc.Claim(ctx, r, c); ok || err != nil {
			t.Errorf("%s: claimed %v, %v", name, ok, err)
		}
	}
	if !w.claims(r) {
		t.Error("not claimed by its own call")
	}
}

// TestAClaimAndANewQuestionRace: either the old approval runs or the new question
// stands in its place, never both, and none is left looking approved.
func TestAClaimAndANewQuestionRace(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		args := `{"n":` + string(rune('a'+n)) + `"}`
		args = strings.Replace(args, `:`, `:"`, 1)
		r := w.approve(w.ask(w.call(args)), policy.Single)
		anew := w.call(args, ruleVersion(n+2))
		var claimed bool
		var both sync.WaitGroup
		both.Go(func() { claimed = w.claims(r) })
		both.Go(func() { w.ask(anew) })
		both.Wait()
		if now := w.get(r.ID); claimed == (now.Stopped != nil) {
			t.Errorf("claimed %v, stopped %v", claimed, now.Stopped)
		}
	}
}
