package approvals_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	gocmp "github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// history runs the same steps on the model and on the database.
type history struct {
	*world
	*model
	rt *rapid.T
	// processes are the approvals parts of all processes so far, the living one last.
	processes []*approvals.Service
	ids       map[string]string // of people by name
	merges    map[string]identity.Merge
}

// people are the names in a history. Olga and Otto begin as owners; Una may turn
// out to be Ulf, and Olga to be Otto.
var people = []string{"olga", "otto", "una", "ulf"}

// sessions are how many each of them has.
const sessions = 3

func newHistory(w *world, rt *rapid.T, number int) *history {
	agent := fmt.Sprint("agent", number)
	h := &history{world: w, rt: rt, ids: map[string]string{}, merges: map[string]identity.Merge{}, model: &model{
		agent: agent, roles: map[string]string{}, alias: map[string]string{}, versions: map[string]int{}, rows: map[string]*row{},
		events: map[string][]string{}, records: map[string]int{}, living: -1,
	}}
	w.agent(agent)
	h.ids["agent"], h.ids[admin] = identity.AgentRequester(agent), admin
	for i, name := range people {
		role := policy.Owner
		if i > 1 {
			role = policy.User
		}
		h.ids[name], h.roles[name] = w.person(name+" of "+agent, agent, role), string(role)
	}
	for _, name := range append([]string{"agent"}, people...) {
		for n := range sessions {
			w.ok(session.Ensure(ctx, w.pool, session.Session{ID: h.session(name, n), AgentID: agent, Kind: session.API, RequesterID: h.ids[name]}))
		}
	}
	h.restart()
	return h
}

func (h *history) session(name string, n int) string {
	return fmt.Sprintf("%d of %s of %s", n+1, name, h.model.agent)
}

func (h *history) svc() *approvals.Service { return h.processes[len(h.processes)-1] }

// restart puts a new process in the place of the living one, whose calls nobody
// ends any more.
func (h *history) restart() {
	_, svc := h.world.process()
	svc.MaxOpenPerSession, svc.MaxOpenPerRequester = capMine, capWhole
	svc.Impatient()
	h.processes = append(h.processes, svc)
	h.living++
}

func draw[T any](h *history, what string, from ...T) T { return evenly(from).Draw(h.rt, what) }

// evenly draws each value as often as any other; rapid by itself prefers the first.
func evenly[T any](from []T) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		n := 0
		for range 12 {
			n *= 2
			if rapid.Bool().Draw(t, "bit") {
				n++
			}
		}
		return from[n%len(from)]
	})
}

func (h *history) actor(name string) approvals.Actor {
	return approvals.Actor{UserID: strings.TrimPrefix(h.ids[name], admin), Admin: name == admin, Name: name, Via: "test"}
}

// agrees checks the code of a failure; all that forbid are one.
func (h *history) code(what, want string, err error) {
	got := ""
	if f, ok := fault.As(err); ok {
		if got = f.Code; f.Kind == fault.Forbidden {
			got = "forbidden"
		}
	} else if err != nil {
		h.rt.Fatal(err)
	}
	if got != want {
		h.rt.Fatalf("%s: %q, want %q (%v)", what, got, want, err)
	}
}

// call draws a call, once as the model has it and once for Ask.
func (h *history) call(likely func(*modelled) bool) (*modelled, approvals.Call) {
	name := draw(h, "requester", "agent", "agent", "agent", "una", "ulf", "olga")
	rule := draw(h, "rule", rules...)
	args := draw(h, "arguments", "1", "2")
	if r := h.pick(likely); r != nil && draw(h, "the same again", false, true, true) {
		name, rule, args = r.requester, r.rule, r.args
	}
	c := &modelled{session: h.session(name, draw(h, "session", 0, 1, 2)), requester: h.live(name), args: args, rule: rule, version: h.versions[rule] + 1}
	c.Mode = approvals.Async
	settings := &policy.ApprovalSettings{Quorum: needed(rule)}
	if rule == "any arguments" {
		settings.Binding = policy.BindResource
	}
	if rule == "further" {
		settings.EscalateAfterMinutes, settings.EscalateTo = 1_000_000, []policy.Grant{policy.ToRole(policy.User)}
	}
	call := h.world.call(`{"n":`+args+`}`, ruleSays(*settings), ruleVersion(c.version), func(call *approvals.Call) {
		call.Session = session.Session{ID: c.session, AgentID: h.model.agent, Kind: session.API, RequesterID: h.ids[c.requester]}
		call.Rule.ID, call.Rule.AgentID = rule, h.model.agent
		call.ResourceKey = toolOf(rule)
	})
	return c, call
}

func (h *history) ask() {
	c, call := h.call(func(r *modelled) bool { return r.Status == approvals.Pending })
	if c.requester == "olga" && needed(c.rule) == 1 && h.owns("olga") && draw(h, "in place", false, true) {
		c.Mode, call.Realtime = approvals.Realtime, time.Minute
	}
	h.put(c, call)
}

// put asks, and checks which request stands for the call.
func (h *history) put(c *modelled, call approvals.Call) {
	got, err := h.svc().Ask(ctx, call)
	want := h.model.ask(c)
	if want == nil {
		h.code("ask", "capped", err)
		return
	}
	h.world.ok(err)
	if want.id == "" {
		want.id = got.ID
	}
	if got.ID != want.id || got.ShortID != want.Number {
		h.rt.Fatalf("the ask is request %d, want %d", got.ShortID, want.Number)
	}
}

// askTogether asks for one call from all sessions of a requester, of which one then
// takes its ask back.
func (h *history) askTogether() {
	c, call := h.call(func(r *modelled) bool { return r.Status == approvals.Pending })
	name, _, _ := strings.Cut(strings.SplitN(c.session, " of ", 2)[1], " of ")
	for n := range sessions {
		one := *c
		one.session = h.session(name, n)
		call.Session.ID = one.session
		h.put(&one, call)
	}
	if r := h.pick(func(r *modelled) bool { return r.open() && r.question != nil }); r != nil {
		h.cancel(r)
	}
}

func (h *history) useWindow() {
	c, call := h.call(func(r *modelled) bool { return r.Resolution == policy.Once })
	id, ok, err := h.svc().UseWindow(ctx, call)
	h.world.ok(err)
	want := h.window(c)
	switch {
	case want == nil && ok:
		h.rt.Fatalf("a call is covered by %s, want none", id)
	case want != nil && id != want.id:
		h.rt.Fatalf("a call is covered by %q, want request %d", id, want.Number)
	case ok:
		want.Uses++
		h.records["grant_used 0"]++
	}
}

// reviewer draws who acts on r; whoever holds it more often than others.
func (h *history) reviewer(r *modelled) string {
	who := []string{admin, "olga", "otto", "una"}
	if r.hold != nil {
		who = append(who, r.hold.by, r.hold.by, r.hold.by)
	}
	return draw(h, "actor", who...)
}

func (h *history) decide(r *modelled) {
	by, resolution := h.reviewer(r), draw(h, "resolution", "", policy.Single, policy.Once, policy.Persistent)
	_, err := h.svc().Decide(ctx, approvals.Decision{AgentID: h.model.agent, RequestID: r.id, Approve: resolution != "", Resolution: resolution, Actor: h.actor(by)})
	h.code("decide", h.model.decide(r, by, resolution, 0), err)
}

func (h *history) await(r *modelled) {
	by, action := h.reviewer(r), draw(h, "action", approvals.Reject, approvals.ApproveCall)
	_, err := h.svc().Await(ctx, h.model.agent, r.id, action, h.actor(by))
	h.code("await", h.model.await(r, by, action), err)
}

func (h *history) giveReason(r *modelled) {
	by, action := h.reviewer(r), draw(h, "action", approvals.Reject, approvals.ApproveCall)
	_, err := h.svc().GiveReason(ctx, h.model.agent, r.id, action, "because", h.actor(by))
	h.code("give the reason", h.model.decide(r, by, action.Resolution(), action), err)
}

func (h *history) drop(r *modelled) {
	by := h.reviewer(r)
	_, err := h.svc().DropHold(ctx, h.model.agent, r.id, h.actor(by))
	h.code("drop", h.model.drop(r, by), err)
}

func (h *history) cancel(r *modelled) {
	by := draw(h, "actor", admin, "olga", "una", "agent")
	_, err := h.svc().Cancel(ctx, approvals.Cancellation{AgentID: h.model.agent, RequestID: r.id, Actor: h.actor(by)})
	h.code("cancel", h.model.cancel(r, by), err)
}

func (h *history) claim(r *modelled) {
	stored := h.get(r.id)
	_, ok, err := h.svc().Claim(ctx, stored, callOf(stored))
	h.world.ok(err)
	if want := h.model.claim(r); ok != want {
		h.rt.Fatalf("claimed request %d: %v, want %v", r.Number, ok, want)
	}
}

func (h *history) finish(r *modelled) {
	outcome := draw(h, "outcome", approvals.Succeeded, approvals.Failed)
	process := draw(h, "process", h.living, max(h.living-1, 0))
	err := h.processes[process].Finish(ctx, r.id, outcome, nil)
	if want := h.model.finish(r, process, outcome); (err == nil) != want {
		h.rt.Fatalf("finished: %v, want %v", err, want)
	}
}

func (h *history) revoke(r *modelled) {
	_, err := h.svc().Revoke(ctx, h.model.agent, r.id, h.actor(admin))
	h.code("revoke", h.model.revoke(r), err)
}

// deleteRows takes away what persistent approvals have opened.
func (h *history) deleteRows() {
	want, removed := h.model.deleteRows(), 0
	for _, rule := range rules {
		err := db.InTx(ctx, h.pool, func(tx pgx.Tx) error {
			rows, err := h.svc().DeleteRows(ctx, tx, h.model.agent, policy.TypeTool, toolOf(rule), policy.Allow, h.actor(admin))
			removed += len(rows)
			return err
		})
		if !fault.Is(err, "not_found") {
			h.world.ok(err)
		}
	}
	if (want == "not_found") != (removed == 0) {
		h.rt.Fatalf("%d rows removed, want the code %q", removed, want)
	}
}

// rules are those of a history, each about a tool of its own: two questions about
// one call are there only while a rule changes.
var rules = []string{"plain", "two", "any arguments", "further"}

func toolOf(rule string) string { return "mcp__git__" + strings.ReplaceAll(rule, " ", "_") }

func (h *history) pastDeadline(r *modelled) {
	q := r.named()
	if q.Status != approvals.Pending {
		return
	}
	h.exec(`UPDATE approval_requests SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1 OR duplicate_of = $1 AND status = 'pending'`, q.id)
	for _, one := range append(h.duplicates(q), q) {
		one.overdue = one.Status == approvals.Pending
	}
}

// anHourLater ages the answer: a rejection may be asked again, an approval is over.
func (h *history) anHourLater(r *modelled) {
	if r.question != nil {
		r = r.question
	}
	if r.Status == approvals.Pending {
		return
	}
	h.exec(`UPDATE approval_requests SET resolved_at = resolved_at - interval '61 minutes' WHERE id = $1 OR duplicate_of = $1`, r.id)
	h.exec(`UPDATE approval_grants SET valid_until = valid_until - interval '61 minutes' WHERE request_id = $1`, r.id)
	for _, one := range append(h.duplicates(r), r) {
		one.old = true
	}
}

func (h *history) holdRunsOut(r *modelled) {
	if r.hold != nil {
		r.hold.over = true
		h.exec(`UPDATE approval_requests SET hold = jsonb_set(hold, '{until}', to_jsonb(clock_timestamp() - interval '1 second')) WHERE id = $1`, r.id)
	}
}

func (h *history) endHold(r *modelled) {
	_, err := h.svc().EndHold(ctx, r.id)
	h.world.ok(err)
	h.model.endHold(r)
}

// aMinuteLater is when a card must have reached somebody.
func (h *history) aMinuteLater() {
	h.exec(`
		UPDATE card_deliveries
		SET created_at = created_at - interval '61 seconds'
		WHERE request_id IN (SELECT id FROM approval_requests WHERE agent_id = $1)`, h.model.agent)
	h.exec(`UPDATE approval_requests SET created_at = created_at - interval '61 seconds' WHERE agent_id = $1`, h.model.agent)
	for _, r := range h.list {
		if r.young = false; r.card == "on its way" {
			r.card = "late"
		}
	}
}

// cardFails is the end of every way to somebody.
func (h *history) cardFails(r *modelled) {
	if r.card != "on its way" && r.card != "late" {
		return
	}
	h.exec(`UPDATE card_deliveries SET state = 'unreachable' WHERE request_id = $1`, r.id)
	r.card = "failed"
	h.world.ok(h.svc().MarkUndelivered(ctx, r.id))
	h.undelivered(r)
}

func (h *history) cardArrives(r *modelled) {
	if r.card != "on its way" && r.card != "late" {
		return
	}
	h.world.ok(db.InTx(ctx, h.pool, func(tx pgx.Tx) error {
		wake, err := h.svc().Delivered(ctx, tx, r.id)
		if err != nil {
			return err
		}
		wake()
		_, err = tx.Exec(ctx, `UPDATE card_deliveries SET state = 'sent' WHERE request_id = $1`, r.id)
		return err
	}))
	h.arrives(r)
}

func (h *history) escalate(r *modelled) {
	if r = r.named(); r.rule == "further" {
		h.world.ok(h.svc().Escalate(ctx, r.id))
		h.model.escalate(r)
	}
}

func (h *history) changeRole() {
	name, role := draw(h, "person", "olga", "otto"), draw(h, "role", "owner", "user")
	h.exec(`UPDATE agent_members SET role = $3 WHERE agent_id = $1 AND user_id = $2`, h.model.agent, h.ids[name], role)
	h.roles[name] = role
}

func (h *history) mergeOrPart() {
	source, target := "una", "ulf"
	if draw(h, "owners", false, true) {
		source, target = "olga", "otto"
	}
	if m, merged := h.merges[source]; merged {
		h.world.part(m)
		delete(h.merges, source)
		delete(h.alias, source)
		return
	}
	h.merges[source] = h.world.merge(h.ids[source], h.ids[target])
	h.alias[source] = target
}

// repair reconciles as after a while: the second look finds a dead process dead.
func (h *history) repair() {
	w := h.world.in(h.world.t)
	w.svc = h.svc()
	w.reconcile()
	w.reconcile()
	h.model.reconcile()
}

// pick draws a request; mostly one for which the step has an effect.
func (h *history) pick(likely func(*modelled) bool) *modelled {
	from := h.list
	if likely != nil && draw(h, "with effect", false, true, true, true) {
		from = slices.DeleteFunc(slices.Clone(from), func(r *modelled) bool { return !likely(r) })
	}
	if len(from) == 0 {
		return nil
	}
	return draw(h, "request", from...)
}

// often are the steps that happen more often than others: those that lead on.
var often = map[string]int{"ask": 10, "ask together": 3, "use a window": 3, "decide": 8, "claim": 6, "finish": 3, "change a rule": 2}

// steps are what may happen, by name.
func (h *history) steps() map[string]func() {
	about := func(do func(*modelled), likely func(*modelled) bool) func() {
		return func() {
			if r := h.pick(likely); r != nil {
				do(r)
			}
		}
	}
	open := func(r *modelled) bool { return r.Status == approvals.Pending }
	held := func(r *modelled) bool { return open(r) && r.hold != nil }
	ended := func(r *modelled) bool { return !open(r) }
	waits := func(r *modelled) bool { return r.Status == approvals.Approved && !r.Claimed && r.question == nil }
	runs := func(r *modelled) bool { return r.Claimed && !r.Finished }
	granted := func(r *modelled) bool { return r.Grants > 0 }
	carded := func(r *modelled) bool { return open(r) && r.card != "" }
	realtime := func(r *modelled) bool { return open(r) && r.Mode == approvals.Realtime }
	return map[string]func(){
		"ask": h.ask, "ask together": h.askTogether, "use a window": h.useWindow, "decide": about(h.decide, open), "cancel": about(h.cancel, open),
		"await a reason": about(h.await, open), "give the reason": about(h.giveReason, held), "drop the hold": about(h.drop, held),
		"the hold runs out": about(h.holdRunsOut, held), "end the hold": about(h.endHold, held),
		"claim": about(h.claim, waits), "finish": about(h.finish, func(r *modelled) bool { return r.Claimed }),
		"release": about(func(r *modelled) { h.world.ok(h.svc().Release(ctx, r.id)); h.model.release(r) }, runs),
		"tell":    about(func(r *modelled) { h.world.ok(h.svc().Told(ctx, r.id)); h.hears(r) }, ended),
		"revoke":  about(h.revoke, granted), "delete rows": h.deleteRows,
		"change a rule":     func() { h.versions[draw(h, "rule", rules...)]++ },
		"pass the deadline": about(h.pastDeadline, open), "an hour later": about(h.anHourLater, ended),
		"expire": about(func(r *modelled) {
			_, err := h.svc().Expire(ctx, r.id)
			h.world.ok(err)
			h.model.expire(r)
		}, open),
		"hand over": about(func(r *modelled) {
			_, err := h.svc().EndRealtime(ctx, r.id)
			h.world.ok(err)
			h.handOver(r)
		}, realtime),
		"escalate":       about(h.escalate, func(r *modelled) bool { return open(r) && r.rule == "further" }),
		"a minute later": h.aMinuteLater, "a card fails": about(h.cardFails, carded), "a card arrives": about(h.cardArrives, carded),
		"change a role": h.changeRole, "merge or part": h.mergeOrPart, "restart": h.restart, "reconcile": h.repair,
	}
}

// agrees compares everything that the model knows with the tables.
func (h *history) agrees() {
	var want []seen
	for _, r := range h.list {
		now := r.seen
		now.Votes, now.Live, now.Held = len(h.counted(r)), h.lives(r), r.Status == approvals.Pending && r.hold != nil
		want = append(want, now)
	}
	if diff := gocmp.Diff(want, h.stored()); diff != "" {
		h.rt.Fatalf("requests (-model +database):\n%s", diff)
	}
	events := map[string][]string{}
	for _, line := range h.column(`
		SELECT (payload ->> 'shortId') || ' in ' || session_id || '|' || type || COALESCE(' ' || (payload ->> 'decision'), ' ' || (payload ->> 'outcome'), '')
		FROM session_events WHERE agent_id = $1 ORDER BY id`, h.model.agent) {
		about, event, _ := strings.Cut(line, "|")
		events[about] = append(events[about], event)
	}
	if diff := gocmp.Diff(h.model.events, events); diff != "" {
		h.rt.Fatalf("events by request and session (-model +database):\n%s", diff)
	}
	records := map[string]int{}
	for _, line := range h.column(`
		SELECT kind || ' ' || COALESCE(data ->> 'shortId', '0')
		FROM audit_queue WHERE agent_id = $1 AND kind ~ '^(approval|call|grant)_'`, h.model.agent) {
		records[line]++
	}
	if diff := gocmp.Diff(h.records, records); diff != "" {
		h.rt.Fatalf("records (-model +database):\n%s", diff)
	}
}

// stored reads what the tables say of the agent's requests.
func (h *history) stored() (all []seen) {
	votes := map[string]int{}
	var ids []string
	for _, r := range h.list {
		ids = append(ids, r.id)
	}
	cast, err := approvals.Votes(ctx, h.pool, ids...)
	h.world.ok(err)
	for _, v := range cast {
		if v.Counts {
			votes[v.RequestID]++
		}
	}
	live := map[string]bool{}
	grants, err := approvals.Grants(ctx, h.pool, h.model.agent, "")
	h.world.ok(err)
	for _, g := range grants {
		live[g.ID] = true
	}
	rows, err := h.pool.Query(ctx, `
		SELECT r.id, r.short_id, COALESCE(q.short_id, 0), r.mode, r.status, COALESCE(r.resolution, ''), r.asked,
		       r.claimed_at IS NOT NULL, r.finished_at IS NOT NULL, r.told_at IS NOT NULL, COALESCE(r.outcome, ''), count(g.id),
		       COALESCE(sum(COALESCE(g.uses_left, -1)) FILTER (WHERE g.id IS NOT NULL), 0), COALESCE(sum(g.uses), 0),
		       r.status = 'pending' AND r.hold IS NOT NULL, r.undelivered_at IS NOT NULL, r.resolved_by IS NOT NULL, r.escalated_at IS NOT NULL
		FROM approval_requests r
		LEFT JOIN approval_requests q ON q.id = r.duplicate_of
		LEFT JOIN approval_grants g ON g.request_id = r.id AND g.policy_id IS NULL
		WHERE r.agent_id = $1
		GROUP BY r.id, q.short_id
		ORDER BY r.short_id`, h.model.agent)
	h.world.ok(err)
	var id string
	var s seen
	_, err = pgx.ForEachRow(rows, []any{&id, &s.Number, &s.DuplicateOf, &s.Mode, &s.Status, &s.Resolution, &s.Asked, &s.Claimed, &s.Finished,
		&s.Told, &s.Outcome, &s.Grants, &s.Left, &s.Uses, &s.Held, &s.Undelivered, &s.By, &s.Escalated}, func() error {
		s.Votes, s.Live = votes[id], live[id]
		all = append(all, s)
		return nil
	})
	h.world.ok(err)
	return all
}

// TestAnyHistoryAgreesWithTheModel runs the same histories each time, which is
// quick. HOLM_MODEL_STEPS makes each that long, and others every time.
func TestAnyHistoryAgreesWithTheModel(t *testing.T) {
	steps, _ := strconv.Atoi(os.Getenv("HOLM_MODEL_STEPS"))
	set := map[string]string{"rapid.nofailfile": "true"}
	if steps == 0 {
		set["rapid.checks"], set["rapid.seed"] = "40", "20261130"
	}
	for name, value := range set {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue { // else somebody said otherwise
			before := f.DefValue
			_ = flag.Set(name, value)
			defer func() { _ = flag.Set(name, before) }()
		}
	}
	w := newWorld(t)
	number := 0
	rapid.Check(t, func(rt *rapid.T) {
		number++
		h := newHistory(w, rt, number)
		defer func() {
			w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error { return identity.RemoveAgent(ctx, tx, h.model.agent, "test") }))
		}()
		all := h.steps()
		var names []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			names = append(names, slices.Repeat([]string{name}, max(often[name], 1))...)
		}
		for _, name := range rapid.SliceOfN(evenly(names), cmp.Or(steps, 60), cmp.Or(steps, 60)).Draw(rt, "steps") {
			all[name]()
			h.agrees()
		}
	})
}
