package approvals_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

// chat is a person acting on the channel "chat".
func chat(userID, name string) approvals.Actor {
	return approvals.Actor{UserID: userID, Name: name, Via: "chat"}
}

// decides puts actor's answer to r.
func (w *world) decides(r approvals.Request, actor approvals.Actor, approve bool, resolution policy.Resolution, extent approvals.Extent) (approvals.Request, error) {
	w.t.Helper()
	return w.svc.Decide(ctx, approvals.Decision{
		AgentID: r.AgentID, RequestID: r.ID, Approve: approve, Resolution: resolution, Extent: extent, Actor: actor,
	})
}

// votes is an approval that must be taken, and gives how the request stands.
func (w *world) votes(r approvals.Request, actor approvals.Actor, resolution policy.Resolution) approvals.Request {
	w.t.Helper()
	got, err := w.decides(r, actor, true, resolution, "")
	w.ok(err)
	return got
}

func quorum(n int) func(*approvals.Call) { return ruleSays(policy.ApprovalSettings{Quorum: n}) }

// Twenty owners approve at once where three must: one move, three votes.
func TestOfTwentyVotesTheQuorumMovesTheRequestOnce(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, quorum(3)))
	_, other := w.process()
	start := make(chan struct{})
	var mu sync.Mutex
	count := map[string]int{}
	var wg sync.WaitGroup
	for n := range 20 {
		d := approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Resolution: policy.Single,
			Actor: chat(w.person(fmt.Sprint("owner", n), "main", policy.Owner), fmt.Sprint("Owner ", n))}
		svc := []*approvals.Service{w.svc, other}[n%2]
		wg.Go(func() {
			<-start
			got, err := svc.Decide(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			if e, ok := fault.As(err); ok {
				count[e.Code]++
			} else if err != nil {
				t.Error(err)
			} else {
				count[string(got.Status)]++
			}
		})
	}
	close(start)
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"pending": 2, "approved": 1, "already_decided": 17}, count); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	got := map[string]int{
		"votes":   w.count(`SELECT count(*) FROM approval_votes WHERE request_id = $1`, r.ID),
		"records": w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'approval_vote'`),
		"moves":   w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'approval_approved'`),
		"events":  w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_resolved'`),
		"grants":  w.count(`SELECT count(*) FROM approval_grants`),
		"version": w.get(r.ID).Version,
	}
	want := map[string]int{"votes": 3, "records": 3, "moves": 1, "events": 1, "grants": 1, "version": 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
	if !w.claims(r) || w.claims(r) {
		t.Error("want exactly one claim")
	}
}

func TestASecondVoteOfOnePersonIsToldAndCountsOnce(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, quorum(2)))
	if got := w.votes(r, operator, policy.Once); got.Status != approvals.Pending || got.Tally() != "1 of 2 approvals" {
		t.Fatalf("the first vote: %s, %s", got.Status, got.Tally())
	}
	got, err := w.decides(r, operator, true, policy.Persistent, "")
	if e := refused(t, err, fault.Conflict, "already_voted"); !strings.Contains(e.Message, "1 of 2") || got.ID != r.ID {
		t.Errorf("%s; %+v", e.Message, got)
	}
	if now := w.get(r.ID); now.Status != approvals.Pending || now.Version != 2 {
		t.Errorf("request %+v", now)
	}
	if w.votes(r, chat(w.olga, "Olga"), policy.Single).Status != approvals.Approved {
		t.Error("two people are not enough for a quorum of two")
	}
	wires, err := approvals.OnWire(ctx, w.pool, w.get(r.ID))
	w.ok(err)
	var seen []string
	for _, v := range wires[0].Votes {
		seen = append(seen, fmt.Sprint(v.Approver, " ", v.Name, " ", v.Via, " ", v.Resolution, " ", v.Counts))
	}
	want := []string{"admin the operator cli once true", w.olga + " Olga chat single true"}
	if diff := cmp.Diff(want, seen); diff != "" || wires[0].Quorum != 2 {
		t.Errorf("quorum %d, votes (-want +got):\n%s", wires[0].Quorum, diff)
	}
}

func TestARejectionEndsItWhateverTheVotes(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, quorum(3)))
	w.votes(r, operator, policy.Once)
	got, err := w.decides(r, chat(w.olga, "Olga"), false, "", "")
	w.ok(err)
	if got.Status != approvals.Rejected || *got.ResolvedBy != w.olga {
		t.Errorf("request %+v", got)
	}
	_, err = w.decides(r, chat(w.person("otto", "main", policy.Owner), "Otto"), true, policy.Once, "")
	refused(t, err, fault.Conflict, "already_decided")
}

func TestTheNarrowestVoteHolds(t *testing.T) {
	w := newWorld(t)
	otto := chat(w.person("otto", "main", policy.Owner), "Otto")
	type vote struct {
		resolution policy.Resolution
		extent     approvals.Extent
	}
	for i, c := range []struct{ a, b, want vote }{
		{vote{"single", ""}, vote{"persistent", "tool"}, vote{"single", ""}},
		{vote{"persistent", "tool"}, vote{"once", ""}, vote{"once", ""}},
		{vote{"persistent", "tool"}, vote{"persistent", "arguments"}, vote{"persistent", "arguments"}},
		{vote{"persistent", "tool"}, vote{"persistent", "tool"}, vote{"persistent", "tool"}},
	} {
		r := w.ask(w.call(fmt.Sprintf(`{"n":%d}`, i), quorum(2)))
		_, err := w.decides(r, operator, true, c.a.resolution, c.a.extent)
		w.ok(err)
		got, err := w.decides(r, otto, true, c.b.resolution, c.b.extent)
		w.ok(err)
		extent := approvals.Extent("")
		if got.Extent != nil {
			extent = *got.Extent
		}
		if *got.Resolution != c.want.resolution || extent != c.want.extent {
			t.Errorf("%v and %v made %s %s", c.a, c.b, *got.Resolution, extent)
		}
	}
	notes := w.column(`SELECT note FROM agent_policies WHERE origin = 'approval'`)
	for _, note := range notes {
		if !strings.Contains(note, "by the operator, Otto on") {
			t.Errorf("note %q", note)
		}
	}
	if len(notes) != 2 {
		t.Errorf("%d rows, want those of two persistent approvals", len(notes))
	}
}

// A vote counts while its voter may decide, also of an approval that waits for
// its call.
func TestAVoteOfSomebodyWhoLeftDoesNotCount(t *testing.T) {
	w := newWorld(t)
	leaver, otto := w.person("leaver", "main", policy.Owner), w.person("otto", "main", policy.Owner)
	r := w.ask(w.call(`{}`, quorum(2)))
	w.votes(r, chat(leaver, "Leaver"), policy.Single)
	w.exec(`UPDATE agent_members SET role = 'guest' WHERE user_id = $1`, leaver)
	if got := w.votes(r, chat(otto, "Otto"), policy.Single); got.Status != approvals.Pending || got.Tally() != "1 of 2 approvals" {
		t.Fatalf("the vote of a former owner counted: %s", got.Status)
	}
	if got := w.votes(r, chat(w.olga, "Olga"), policy.Single); got.Status != approvals.Approved {
		t.Fatalf("request is %s", got.Status)
	}
	w.exec(`UPDATE agent_members SET role = 'user' WHERE user_id = $1`, otto)
	if w.claims(r) {
		t.Error("claimed with one approver left of two")
	}
	w.exec(`UPDATE agent_members SET role = 'owner' WHERE user_id = $1`, otto)
	if !w.claims(r) {
		t.Error("not claimed with both approvers")
	}
}

func TestVotesOfMergedUsersAreOnePersons(t *testing.T) {
	w := newWorld(t)
	phone, desk := w.person("phone", "main", policy.Owner), w.person("desk", "main", policy.Owner)
	before := w.ask(w.call(`{"n":1}`, quorum(2)))
	w.votes(before, chat(phone, "Phone"), policy.Single)
	after := w.ask(w.call(`{"n":2}`, quorum(2)))
	w.votes(after, chat(phone, "Phone"), policy.Single)
	if w.votes(after, chat(desk, "Desk"), policy.Single).Status != approvals.Approved {
		t.Fatal("two users are two people before the merge")
	}
	w.exec(`UPDATE users SET merged_into = $1 WHERE id = $2`, desk, phone)
	for _, id := range []string{phone, desk} {
		_, err := w.decides(before, chat(id, "Desk"), true, policy.Single, "")
		refused(t, err, fault.Conflict, "already_voted")
	}
	if w.claims(after) {
		t.Error("claimed by the votes of one person")
	}
	if got := w.votes(before, operator, policy.Single); got.Status != approvals.Approved {
		t.Errorf("request is %s", got.Status)
	}
}

// The deadline is looked at by the statement that votes.
func TestAVoteAfterTheDeadlineIsNone(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, quorum(2)))
	w.votes(r, operator, policy.Single)
	w.overdue(r)
	got, err := w.decides(r, chat(w.olga, "Olga"), true, policy.Single, "")
	refused(t, err, fault.Gone, "expired")
	if got.Status != approvals.Expired || w.count(`SELECT count(*) FROM approval_votes`) != 1 {
		t.Errorf("request is %s", got.Status)
	}
}

func TestEveryVoteUpdatesEveryCard(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`, quorum(2)))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	got := w.votes(r, operator, policy.Single)
	card := w.column(`SELECT id FROM card_deliveries`)[0]
	if n := w.count(`SELECT count(*) FROM river.river_job WHERE kind = 'approval_update_card'
		AND args ->> 'deliveryId' = $1 AND (args ->> 'version')::int = $2`, card, got.Version); n != 1 {
		t.Errorf("%d edits queued", n)
	}
}

// TestWhoHasVotedKeepsNobodyFromIt: a request waits for no reason of an approval
// that would be somebody's second; a rejection is still theirs to give.
func TestWhoHasVotedKeepsNobodyFromIt(t *testing.T) {
	w := newWorld(t)
	otto := w.person("otto", "main", policy.Owner)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{Quorum: 2, RequireReason: true})))
	approve := func(by string) error {
		_, err := w.svc.Decide(ctx, approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Resolution: policy.Single, Reason: "fine", Actor: user(by)})
		return err
	}
	w.ok(approve(w.olga))
	got, err := w.svc.Await(ctx, "main", r.ID, approvals.ApproveCall, user(w.olga))
	refused(t, err, fault.Conflict, "already_voted")
	if got.ID != r.ID || w.get(r.ID).Hold != nil {
		t.Errorf("held: %+v", w.get(r.ID).Hold)
	}
	if _, err := w.svc.Await(ctx, "main", r.ID, approvals.Reject, user(w.olga)); err != nil {
		t.Errorf("a rejection: %v", err)
	}
	_, err = w.svc.DropHold(ctx, "main", r.ID, user(w.olga))
	w.ok(err)
	w.ok(approve(otto))
	if got := w.get(r.ID); got.Status != approvals.Approved {
		t.Errorf("%s after two", got.Status)
	}
}

// TestARoleThatComesBackLeavesNoDeadEnd: each has approved, one of them while the
// other had no role. Nobody else may, so either may say it once more.
func TestARoleThatComesBackLeavesNoDeadEnd(t *testing.T) {
	w := newWorld(t)
	otto := w.person("otto", "main", policy.Owner)
	for name, by := range map[string]string{"otto": otto, "olga": w.olga} {
		r := w.ask(w.call(`{"by":"`+name+`"}`, quorum(2)))
		w.votes(r, chat(otto, "Otto"), policy.Persistent)
		w.exec(`UPDATE agent_members SET role = 'guest' WHERE user_id = $1`, otto)
		if got := w.votes(r, chat(w.olga, "Olga"), policy.Once); got.Status != approvals.Pending {
			t.Fatalf("%s with one approval that counts", got.Status)
		}
		_, err := w.decides(r, chat(w.olga, "Olga"), true, policy.Once, "")
		refused(t, err, fault.Conflict, "already_voted")
		w.exec(`UPDATE agent_members SET role = 'owner' WHERE user_id = $1`, otto)
		if _, err := w.svc.Await(ctx, "main", r.ID, approvals.ApproveCall, user(by)); err != nil {
			t.Errorf("%s may not write a reason: %v", name, err)
		}
		got := w.votes(r, chat(by, name), policy.Persistent)
		if got.Status != approvals.Approved || *got.Resolution != policy.Once || len(got.Votes) != 2 || w.count(`SELECT count(*) FROM approval_votes WHERE request_id = $1`, r.ID) != 2 {
			t.Errorf("%s: %s with %+v", name, got.Status, got.Votes)
		}
		if !w.claims(r) {
			t.Errorf("%s: not claimed", name)
		}
	}
}
