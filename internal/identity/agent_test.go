package identity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func TestNamesOfAgents(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "Main-2_x": true, strings.Repeat("a", 64): true,
		"": false, "2main": false, "-a": false, "_a": false, "a b": false, "a/b": false, "a:b": false, "a\n": false,
		"ä": false, "a\x00": false, "a.b": false, "../a": false, strings.Repeat("a", 65): false,
	} {
		if got := identity.ValidAgentName(name); got != want {
			t.Errorf("%q is valid: %v, want %v", name, got, want)
		}
	}
}

func TestAgentsAreMadeOnce(t *testing.T) {
	w := newWorld(t)
	create := func(name string) error {
		return w.tx(func(tx pgx.Tx) error {
			_, err := identity.CreateAgent(ctx, tx, name, "admin")
			return err
		})
	}
	w.ok(create("second"))
	refused(t, create("main"), fault.Conflict, "a name that is taken")
	refused(t, create("not a name"), fault.Invalid, "a bad name")
	agents, err := identity.ListAgents(ctx, w.pool)
	w.ok(err)
	var got []string
	for _, a := range agents {
		got = append(got, a.ID+" "+a.DefaultDecision+" "+a.Access)
	}
	if diff := cmp.Diff([]string{"main deny private", "second deny private"}, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	_, err = identity.GetAgent(ctx, w.pool, "third")
	refused(t, err, fault.NotFound, "an agent that is not there")
}

func TestRemovingAnAgentTakesAllButTheAudit(t *testing.T) {
	w := newWorld(t)
	w.agent("stays")
	u := w.user("olga", policy.Owner)
	w.ok(w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateKey(ctx, tx, "main", u.ID, nil, "admin")
		if err != nil {
			return err
		}
		_, err = identity.CreateInvite(ctx, tx, "main", policy.User, "admin")
		return err
	}))
	w.exec(`INSERT INTO sessions (id, agent_id, kind, requester_id) VALUES ('s', 'main', 'api', $1)`, u.ID)
	w.exec(`INSERT INTO session_events (id, session_id, agent_id, type, payload) VALUES (1, 's', 'main', 'note', '1')`)
	w.exec(`INSERT INTO agent_policies (id, agent_id, resource_type, resource_key, effect) VALUES ('p', 'main', 'tool', 'x', 'deny')`)
	for n, duplicate := range []any{nil, "r0"} {
		w.exec(`INSERT INTO approval_requests
			(id, agent_id, short_id, session_id, requester_id, requester_name, resource_type, resource_key, args_bytes,
			 args_digest, args_sha256, rule_id, rule_text, expires_at, duplicate_of)
			VALUES ('r' || $1::int, 'main', $1, 's', $2, 'Olga', 'tool', 'x', '{}', 'd' || $1::int, 'd', 'p', 'p', now(), $3)`, n, u.ID, duplicate)
	}
	w.exec(`INSERT INTO approval_grants (id, agent_id, requester_id, resource_type, resource_key, rule_id, valid_until, request_id)
		VALUES ('g', 'main', $1, 'tool', 'x', 'p', now(), 'r0')`, u.ID)
	w.exec(`INSERT INTO card_deliveries (id, request_id, channel, identity, user_id, button_id) VALUES ('c', 'r1', 'chat', 'olga', $1, '1')`, u.ID)
	before := w.count(`SELECT count(*) FROM audit_queue`)

	remove := func(name string) error {
		return w.tx(func(tx pgx.Tx) error { return identity.RemoveAgent(ctx, tx, name, "admin") })
	}
	w.ok(remove("main"))
	for _, table := range []string{"agent_members", "agent_keys", "link_tokens", "sessions", "session_events",
		"agent_policies", "approval_requests", "approval_grants", "card_deliveries"} {
		if n := w.count(`SELECT count(*) FROM ` + table); n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit_queue`); n != before+1 {
		t.Errorf("%d audit records, want %d", n, before+1)
	}
	if n := w.count(`SELECT count(*) FROM users`); n != 1 {
		t.Error("the person is gone with the agent")
	}
	refused(t, remove("main"), fault.NotFound, "removing it twice")
	if n := w.count(`SELECT count(*) FROM agents WHERE id = 'stays'`); n != 1 {
		t.Error("another agent is gone too")
	}
}
