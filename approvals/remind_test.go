package approvals_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

// scheduled gives the jobs of one kind about r with the minutes after the ask
// that they are to run at.
func (w *world) scheduled(r approvals.Request, kind string) []string {
	w.t.Helper()
	return w.column(`
		SELECT COALESCE(args ->> 'number', '') || ' at ' || round(extract(epoch FROM scheduled_at - $2::timestamptz) / 60)
		FROM river.river_job
		WHERE kind = $3
		  AND args ->> 'requestId' = $1
		ORDER BY id`, r.ID, r.CreatedAt, kind)
}

// reminded gives who is sent the reminders that are queued.
func (w *world) reminded(r approvals.Request, number int) []string {
	w.t.Helper()
	return w.column(`
		SELECT d.identity
		FROM river.river_job j
		JOIN card_deliveries d ON d.id = j.args ->> 'deliveryId'
		WHERE j.kind = 'approval_remind_card'
		  AND d.request_id = $1
		  AND (j.args ->> 'number')::int = $2
		ORDER BY d.identity`, r.ID, number)
}

func TestAReminderGoesToThoseWhoHaveNotAnswered(t *testing.T) {
	w := newWorld(t)
	otto := w.person("otto", "main", policy.Owner)
	rita := w.person("rita", "main", policy.User)
	r := w.ask(w.call(`{}`, by(rita), ruleSays(policy.ApprovalSettings{Quorum: 3, RemindAfterMinutes: 25})))
	w.person("una", "main", policy.Owner) // has no card
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	w.votes(r, chat(otto, "Otto"), policy.Single)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { w.ok(w.svc.Remind(ctx, r.ID, 1)) })
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"olga"}, w.reminded(r, 1)); diff != "" {
		t.Errorf("reminded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 at 25", "2 at 50"}, w.scheduled(r, "approval_remind")); diff != "" {
		t.Errorf("reminders (-want +got):\n%s", diff)
	}
	for name, sql := range map[string]string{
		"event":  `SELECT count(*) FROM session_events WHERE type = 'approval_reminded' AND session_id = 'of ` + rita + `'`,
		"record": `SELECT count(*) FROM audit_queue WHERE kind = 'approval_reminded'`,
		"news":   `SELECT count(*) FROM river.river_job WHERE kind = 'approval_notify_requester' AND args ->> 'news' = 'approval_reminded'`,
	} {
		if n := w.count(sql); n != 1 {
			t.Errorf("%d of %s", n, name)
		}
	}
	w.ok(w.svc.Remind(ctx, r.ID, 2))
	if got := w.scheduled(r, "approval_remind"); len(got) != 2 {
		t.Errorf("a reminder after the deadline: %v", got)
	}
}

func TestNoReminderAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	rule := ruleSays(policy.ApprovalSettings{RemindAfterMinutes: 5, EscalateAfterMinutes: 10, EscalateTo: []policy.Grant{policy.ToRole(policy.User)}})
	decided, late := w.ask(w.call(`{"n":1}`, rule)), w.ask(w.call(`{"n":2}`, rule))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	w.reject(decided)
	w.overdue(late)
	for _, r := range []approvals.Request{decided, late, {ID: "gone"}} {
		w.ok(w.svc.Remind(ctx, r.ID, 1))
		w.ok(w.svc.Escalate(ctx, r.ID))
	}
	if n := w.count(`SELECT count(*) FROM session_events WHERE type IN ('approval_reminded', 'approval_escalated')`); n != 0 {
		t.Errorf("%d were brought up again", n)
	}
}

func TestRemindersEnd(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{RemindAfterMinutes: 1})))
	for n := range 9 {
		w.ok(w.svc.Remind(ctx, r.ID, n+1))
	}
	if got := w.scheduled(r, "approval_remind"); len(got) != 5 {
		t.Errorf("reminders %v, want five", got)
	}
}

func TestEscalationAsksTheNextPeopleOnce(t *testing.T) {
	for name, c := range map[string]struct {
		settings policy.ApprovalSettings
		before   string // who may decide at first, and who as well afterwards
		after    string
	}{
		"to a role": {policy.ApprovalSettings{EscalateTo: []policy.Grant{policy.ToRole(policy.User)}}, "olga", "uma"},
		"from chosen people to the owners": {
			policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToRole(policy.User)}}, "uma", "olga"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ids := map[string]string{"olga": w.olga, "uma": w.person("uma", "main", policy.User)}
			c.settings.EscalateAfterMinutes = 10
			r := w.ask(w.call(`{}`, ruleSays(c.settings)))
			w.exec(`UPDATE card_deliveries SET state = 'sent'`)
			if diff := cmp.Diff([]string{" at 10"}, w.scheduled(r, "approval_escalate")); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
			_, err := w.decides(r, chat(ids[c.after], c.after), true, policy.Single, "")
			refused(t, err, fault.Forbidden, "not_a_reviewer")

			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { w.ok(w.svc.Escalate(ctx, r.ID)) })
			}
			wg.Wait()
			cards := w.column(`
				SELECT d.identity || ' ' || count(j.id) || ' ' || COALESCE(min(j.kind), '')
				FROM card_deliveries d
				LEFT JOIN river.river_job j ON j.args ->> 'deliveryId' = d.id
				     AND (j.kind = 'approval_update_card' OR d.state = 'queued')
				GROUP BY d.id
				ORDER BY d.created_at`)
			want := []string{c.before + " 1 approval_update_card", c.after + " 1 approval_deliver"}
			if diff := cmp.Diff(want, cards); diff != "" {
				t.Errorf("cards (-want +got):\n%s", diff)
			}
			if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_escalated'`); n != 1 {
				t.Errorf("%d events", n)
			}
			if now := w.get(r.ID); now.EscalatedAt == nil || now.Version != 2 {
				t.Errorf("request %+v", now)
			}
			w.votes(r, chat(ids[c.after], c.after), policy.Single)
			if !w.claims(r) {
				t.Error("what the further people approved cannot be claimed")
			}
			other := w.ask(w.call(`{"n":2}`, ruleSays(c.settings)))
			w.ok(w.svc.Escalate(ctx, other.ID))
			w.votes(other, chat(ids[c.before], c.before), policy.Single) // still asked
		})
	}
}

func TestARequestWithoutTheSettingsHasNoSuchJobs(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	if got := fmt.Sprint(w.scheduled(r, "approval_remind"), w.scheduled(r, "approval_escalate")); got != "[] []" {
		t.Error(got)
	}
}

// later moves the ask of r into the past.
func (w *world) later(r approvals.Request, minutes int) {
	w.t.Helper()
	w.exec(`UPDATE approval_requests SET created_at = created_at - $2 * interval '1 minute' WHERE id = $1`, r.ID, minutes)
}

// told gives the events of a kind by session, with the number of the request.
func (w *world) told(kind string) []string {
	w.t.Helper()
	return w.column(`
		SELECT session_id || ' ' || (payload ->> 'shortId')
		FROM session_events
		WHERE type = $1
		ORDER BY id`, kind)
}

// All sessions that share a question hear of it by their own numbers, and not once
// they have taken their ask back; the requester hears it once.
func TestAllWhoShareAQuestionAreTold(t *testing.T) {
	w := newWorld(t)
	rita := w.person("rita", "main", policy.User)
	rule := ruleSays(policy.ApprovalSettings{RemindAfterMinutes: 5, EscalateAfterMinutes: 10, EscalateTo: []policy.Grant{policy.ToRole(policy.User)}})
	q := w.ask(w.call(`{}`, by(rita), rule, inSession("one")))
	w.ask(w.call(`{}`, by(rita), rule, inSession("two")))
	third := w.ask(w.call(`{}`, by(rita), rule, inSession("three")))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	w.ok(w.svc.Remind(ctx, q.ID, 1))
	_, err := w.svc.Cancel(ctx, approvals.Cancellation{AgentID: "main", RequestID: third.ID, Actor: user(rita)})
	w.ok(err)
	w.ok(w.svc.Escalate(ctx, q.ID))
	if diff := cmp.Diff([]string{"one 1", "two 2", "three 3"}, w.told("approval_reminded")); diff != "" {
		t.Errorf("reminded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one 1", "two 2"}, w.told("approval_escalated")); diff != "" {
		t.Errorf("escalated (-want +got):\n%s", diff)
	}
	if n := w.count(`SELECT count(*) FROM river.river_job WHERE kind = 'approval_notify_requester' AND args ->> 'news' <> ''`); n != 2 {
		t.Errorf("%d messages to the requester, want 2", n)
	}
}

// While its requester is asked in their own session nobody else is, and nobody is
// told so; what was due meanwhile follows.
func TestNobodyIsPressedBesideADialog(t *testing.T) {
	w := newWorld(t)
	w.person("uma", "main", policy.User)
	r := w.ask(w.call(`{}`, by(w.olga), func(c *approvals.Call) { c.Realtime = 1 }, ruleSays(policy.ApprovalSettings{
		RemindAfterMinutes: 5, EscalateAfterMinutes: 10, EscalateTo: []policy.Grant{policy.ToRole(policy.User)}})))
	w.later(r, 11)
	w.ok(w.svc.Remind(ctx, r.ID, 1))
	w.ok(w.svc.Escalate(ctx, r.ID))
	if got := append(w.told("approval_reminded"), w.told("approval_escalated")...); len(got) != 0 {
		t.Errorf("told %v beside the dialog", got)
	}
	_, err := w.svc.EndRealtime(ctx, r.ID)
	w.ok(err)
	w.reconcile()
	if got := w.get(r.ID); got.EscalatedAt == nil || len(w.told("approval_escalated")) != 1 {
		t.Errorf("not escalated afterwards: %+v", got)
	}
	if cards := w.column(`SELECT identity FROM card_deliveries ORDER BY identity`); !cmp.Equal(cards, []string{"olga", "uma"}) {
		t.Errorf("cards at %v", cards)
	}
}

// After an outage one reminder stands for those that were missed, whatever jobs
// are left, and the next comes in its time.
func TestMissedRemindersAreOne(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{RemindAfterMinutes: 10, DeadlineMinutes: 100})))
	w.ask(w.call(`{"another":"rule"}`))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	w.later(r, 35)
	worker := &approvals.RemindWorker{Service: w.svc}
	for range 2 {
		w.ok(worker.Work(ctx, &river.Job[approvals.RemindArgs]{Args: approvals.RemindArgs{RequestID: r.ID, Number: 1}}))
		w.reconcile()
	}
	if got := w.told("approval_reminded"); len(got) != 1 {
		t.Errorf("reminded %v, want once", got)
	}
	if diff := cmp.Diff([]string{"olga"}, w.reminded(r, 3)); diff != "" {
		t.Errorf("reminded (-want +got):\n%s", diff)
	}
	if got := w.scheduled(w.get(r.ID), "approval_remind"); got[len(got)-1] != "4 at 40" {
		t.Errorf("reminders %v", got)
	}
}

// A process whose clock is ahead runs jobs too early: the database's clock decides.
func TestNobodyIsPressedTooEarly(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{RemindAfterMinutes: 5, EscalateAfterMinutes: 10, EscalateTo: []policy.Grant{policy.ToRole(policy.User)}})))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	press := func(id string) {
		w.ok((&approvals.RemindWorker{Service: w.svc}).Work(ctx, &river.Job[approvals.RemindArgs]{Args: approvals.RemindArgs{RequestID: id, Number: 1}}))
		w.ok((&approvals.EscalateWorker{Service: w.svc}).Work(ctx, &river.Job[approvals.EscalateArgs]{Args: approvals.EscalateArgs{RequestID: id}}))
	}
	press(r.ID)
	press("gone")
	w.reconcile()
	if now := w.get(r.ID); now.EscalatedAt != nil || now.Reminders != 0 {
		t.Errorf("pressed too early: %+v", now)
	}
	w.later(r, 10)
	w.reconcile() // although the jobs have run
	if now := w.get(r.ID); now.EscalatedAt == nil || now.Reminders != 2 {
		t.Errorf("not pressed in time: %+v", now)
	}
}

// Nobody is said to have been reminded who was not: the card has not arrived, or
// who has one has approved.
func TestAReminderOfNobodyIsNone(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{Quorum: 2, RemindAfterMinutes: 5})))
	w.ok(w.svc.Remind(ctx, r.ID, 1))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	w.votes(r, chat(w.olga, "Olga"), policy.Single)
	w.ok(w.svc.Remind(ctx, r.ID, 2))
	if got := w.told("approval_reminded"); len(got) != 0 {
		t.Errorf("told %v", got)
	}
	if got := w.scheduled(r, "approval_remind"); len(got) != 3 {
		t.Errorf("reminders %v, want the next one", got)
	}
}

// Escalation adds to who is asked already: whoever has voted and is named again has
// one card and one vote, and names that nobody bears any more stop nothing.
func TestEscalationToThoseWhoHaveVotedAndThoseWhoAreGone(t *testing.T) {
	w := newWorld(t)
	uma := w.person("uma", "main", policy.User)
	gone := w.person("gone", "main", policy.User)
	w.exec(`DELETE FROM agent_members WHERE user_id = $1`, gone)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{
		Approvers: []policy.Grant{policy.ToRole(policy.Owner)}, Quorum: 2, EscalateAfterMinutes: 10,
		EscalateTo: []policy.Grant{policy.ToUser(w.olga), policy.ToUser(gone), policy.ToUser("never was"), policy.ToCircle("empty"), policy.ToUser(uma)}})))
	w.votes(r, chat(w.olga, "Olga"), policy.Single)
	w.ok(w.svc.Escalate(ctx, r.ID))
	if cards := w.column(`SELECT identity FROM card_deliveries ORDER BY identity`); !cmp.Equal(cards, []string{"olga", "uma"}) {
		t.Errorf("cards at %v", cards)
	}
	_, err := w.decides(r, chat(w.olga, "Olga"), true, policy.Single, "")
	refused(t, err, fault.Conflict, "already_voted")
	for _, id := range []string{gone, "never was"} {
		_, err = w.decides(r, chat(id, "Gone"), true, policy.Single, "")
		refused(t, err, fault.Forbidden, "not_a_reviewer")
	}
	if got := w.votes(r, chat(uma, "Uma"), policy.Single); got.Status != approvals.Approved {
		t.Errorf("request is %s", got.Status)
	}
}
