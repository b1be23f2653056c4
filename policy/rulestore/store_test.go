package rulestore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"holm/internal/fault"
	"holm/policy"
	"holm/policy/rulestore"
)

func TestAChangeHoldsHereWhenChangedReturns(t *testing.T) {
	w := newWorld(t)
	p := w.start(true)
	if got := w.decides(p.Store, "mcp__git__log"); got != policy.Deny {
		t.Fatalf("an agent without rows: %s", got)
	}
	for _, effect := range []policy.Effect{policy.Allow, policy.RequireApproval, policy.Deny} {
		w.put(rule(effect, "mcp__git__log", policy.Any()))
		p.Changed("main")
		if got := w.decides(p.Store, "mcp__git__log"); got != effect {
			t.Errorf("after %s: %s", effect, got)
		}
	}
}

func TestAChangeReachesOtherProcesses(t *testing.T) {
	w := newWorld(t)
	here, there := w.start(false), w.start(false)
	w.decides(there.Store, "mcp__git__log")
	waiter := there.hub.Wait(rulestore.Key("main"))
	defer waiter.Close()
	w.put(rule(policy.Allow, "mcp__git__log", policy.Any()))
	here.Changed("main")
	w.comes(there.Store, "mcp__git__log", policy.Allow)
	select {
	case <-waiter.C:
	case <-time.After(patience):
		t.Error("who waits for the agent's policy there was not woken")
	}
}

// A process that hears nothing finds the change by looking.
func TestALostNoticeIsHealed(t *testing.T) {
	w := newWorld(t)
	deaf := w.start(true)
	w.decides(deaf.Store, "mcp__git__log")
	w.put(rule(policy.Allow, "mcp__git__log", policy.Any()))
	w.comes(deaf.Store, "mcp__git__log", policy.Allow)
}

// The new agent's versions count like the old one's did.
func TestAnAgentMadeAnewHasItsOwnRows(t *testing.T) {
	w := newWorld(t)
	deaf := w.start(true)
	w.put(rule(policy.Allow, "mcp__git__log", policy.Any()))
	w.comes(deaf.Store, "mcp__git__log", policy.Allow)
	version := w.version("main")

	tx, err := w.pool.Begin(ctx)
	w.ok(err)
	for _, sql := range []string{`DELETE FROM agents WHERE id = 'main'`, `INSERT INTO agents (id) VALUES ('main')`} {
		_, err := tx.Exec(ctx, sql)
		w.ok(err)
	}
	_, err = rulestore.Put(ctx, tx, rule(policy.Allow, "mcp__git__push", policy.Any()), "admin")
	w.ok(err)
	w.ok(tx.Commit(ctx))
	if got := w.version("main"); got != version {
		t.Fatalf("version %d, want %d for this test", got, version)
	}
	w.comes(deaf.Store, "mcp__git__log", policy.Deny)
}

func TestAnAgentThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	p := w.start(true)
	for range 2 {
		_, err := p.Get(ctx, "gone")
		if e, ok := fault.As(err); !ok || e.Kind != fault.NotFound {
			t.Errorf("%v, want not found", err)
		}
	}
	w.exec(`INSERT INTO agents (id, default_decision) VALUES ('gone', 'allow')`)
	set, err := p.Get(ctx, "gone")
	w.ok(err)
	request := policy.Request{Principal: policy.Principal{AgentID: "gone"}, Tool: "mcp__git__log", Server: "git"}
	if got := set.Evaluate(request).Decision; got != policy.Allow {
		t.Errorf("its default is %s, want allow", got)
	}
}

// What cannot be read must not open anything.
func TestAnUnreadableRowCountsAsADenyAndIsReported(t *testing.T) {
	for name, garbage := range map[string]string{
		"grants of no list":  `grants = '{}'`,
		"an unknown grant":   `grants = '[{"type":"planet","value":"x"}]'`,
		"a scope of no form": `scope = '[]'`,
		"an unknown scope":   `scope = '{"moon":true}'`,
		"a bad pattern":      `scope = '{"args":[{"arg":"a","match":"regex","pattern":"("}]}'`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			row := w.put(rule(policy.Allow, "mcp__git__log", policy.Any()))
			w.put(rule(policy.Allow, "mcp__git__push", policy.Any()))
			w.exec(`UPDATE agent_policies SET `+garbage+` WHERE id = $1`, row.ID)
			p := w.start(true)
			if got := w.decides(p.Store, "mcp__git__log"); got != policy.Deny {
				t.Errorf("decision %s, want deny", got)
			}
			if got := w.decides(p.Store, "mcp__git__push"); got != policy.Allow {
				t.Errorf("the row beside it: %s, want allow", got)
			}
			if log := p.log.text(); !strings.Contains(log, row.ID) || !strings.Contains(log, "agent_id=main") {
				t.Errorf("the log says %q", log)
			}
		})
	}
}

func TestConcurrentGetsShareOneSet(t *testing.T) {
	w := newWorld(t)
	w.put(rule(policy.Allow, "mcp__git__log", policy.Any()))
	p := w.start(true)
	sets := make([]*rulestore.Snapshot, 20)
	var wg sync.WaitGroup
	for i := range sets {
		wg.Go(func() {
			set, err := p.Get(ctx, "main")
			if err != nil {
				t.Error(err)
			}
			sets[i] = set
		})
	}
	wg.Wait()
	for _, set := range sets {
		if set != sets[0] {
			t.Fatal("the set was built twice")
		}
	}
}

// A caller who goes away while the set is built costs the next nothing.
func TestAFailedBuildIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.put(rule(policy.Allow, "mcp__git__log", policy.Any()))
	p := w.start(true)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Get(gone, "main"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if got := w.decides(p.Store, "mcp__git__log"); got != policy.Allow {
		t.Errorf("decision %s", got)
	}
}
