package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/session"
	"holm/policy"
)

// dialogs is a client that shows dialogs: each is passed to the test, which
// answers it.
type dialogs struct {
	asked   chan *mcp.ElicitParams
	answers chan dialogAnswer
	// gone receives when a dialog was withdrawn.
	gone chan struct{}
}

type dialogAnswer struct {
	result *mcp.ElicitResult
	err    error
}

func newDialogs() *dialogs {
	return &dialogs{make(chan *mcp.ElicitParams, 10), make(chan dialogAnswer, 10), make(chan struct{}, 10)}
}

func (d *dialogs) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		d.asked <- r.Params
		select {
		case a := <-d.answers:
			return a.result, a.err
		case <-ctx.Done():
			d.gone <- struct{}{}
			return nil, ctx.Err()
		}
	}}
}

// cards counts the cards that were queued for a request.
func (r *rig) cards(id string) (n int) {
	r.t.Helper()
	err := r.pool.QueryRow(context.Background(), `SELECT count(*) FROM card_deliveries WHERE request_id = $1`, id).Scan(&n)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// modes gives the modes that the events of a request tell.
func (r *rig) modes(id string) (requested, resolved string) {
	r.t.Helper()
	stream := &session.Stream{Pool: r.pool, Hub: r.hub, AgentID: agentName, Once: true, IdleEvery: time.Minute}
	err := stream.Run(context.Background(), func(e session.Event) error {
		var p struct{ RequestID, Mode string }
		if err := json.Unmarshal(e.Payload, &p); err != nil || p.RequestID != id {
			return err
		}
		switch e.Type {
		case session.ApprovalRequested:
			requested = p.Mode
		case session.ApprovalResolved:
			resolved = p.Mode
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return requested, resolved
}

func accept(content map[string]any) dialogAnswer {
	return dialogAnswer{result: &mcp.ElicitResult{Action: "accept", Content: content}}
}

func TestAnOwnerIsAskedInTheirOwnClient(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Single, policy.Once}}})
	olga, key := r.member("olga", policy.Owner)
	d := newDialogs()
	client := r.clientWith(bearer(key), d.options())
	done := later(t.Context(), client, "record", map[string]any{"n": 1, "password": "hunter2", "note": "a\u202eb"})
	asked := <-d.asked
	for _, want := range []string{"Request 1", "mcp__fix__record", `"n": 1`, "aU+202Eb"} {
		if !strings.Contains(asked.Message, want) {
			t.Errorf("no %q in %s", want, asked.Message)
		}
	}
	schema, _ := json.Marshal(asked.RequestedSchema)
	if strings.Contains(asked.Message, "hunter2") || !strings.Contains(string(schema), `["single","once"]`) || strings.Contains(string(schema), "persistent") {
		t.Errorf("asked %s with %s", asked.Message, schema)
	}
	request := r.asked(approvals.Pending)
	if n := r.cards(request.ID); n != 0 {
		t.Errorf("%d cards while the owner is asked", n)
	}
	d.answers <- accept(map[string]any{"decision": "single"})
	if got := <-done; got.Text != "recorded" {
		t.Fatalf("accepted: %+v", got)
	}
	now, err := approvals.Lookup(t.Context(), r.pool, request.ID)
	if err != nil || *now.ResolvedBy != olga.ID || *now.ResolvedVia != "mcp" || *now.Resolution != policy.Single {
		t.Errorf("recorded %+v, %v", now, err)
	}
	if requested, resolved := r.modes(request.ID); requested != "realtime" || resolved != "realtime" {
		t.Errorf("modes %s and %s", requested, resolved)
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %v", ran)
	}

	done = later(t.Context(), client, "record", map[string]any{"n": 2})
	<-d.asked
	d.answers <- dialogAnswer{result: &mcp.ElicitResult{Action: "decline"}}
	if got := <-done; got.Kind != "APPROVAL_REJECTED" {
		t.Errorf("declined: %+v", got)
	}
	if n := r.cards(r.asked(approvals.Rejected).ID); n != 0 {
		t.Errorf("%d cards of a declined request", n)
	}
}

// TestADialogThatDecidesNothing hands the request over to the owners.
func TestADialogThatDecidesNothing(t *testing.T) {
	for name, answer := range map[string]dialogAnswer{
		"dismissed":         {result: &mcp.ElicitResult{Action: "cancel"}},
		"not offered":       accept(map[string]any{"decision": "persistent"}),
		"no content":        accept(nil),
		"another type":      accept(map[string]any{"decision": true}),
		"not in the schema": accept(map[string]any{"approve": "yes"}),
		"an odd action":     {result: &mcp.ElicitResult{Action: "approve"}},
		"a failure":         {err: errors.New("the dialog crashed")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Single}}})
			_, key := r.member("olga", policy.Owner)
			d := newDialogs()
			d.answers <- answer
			got := call(t.Context(), r.clientWith(bearer(key), d.options()), "record", map[string]any{"n": 1})
			if got.Kind != "APPROVAL_REQUIRED" {
				t.Fatalf("got %+v", got)
			}
			request := r.asked(approvals.Pending)
			if requested, _ := r.modes(request.ID); request.Mode != "async" || r.cards(request.ID) != 1 || requested != "realtime" {
				t.Errorf("mode %s, %d cards, asked as %s", request.Mode, r.cards(request.ID), requested)
			}
			if ran := r.ran(); ran != nil {
				t.Errorf("ran %v", ran)
			}
		})
	}
}

// TestSilenceIsHandedOver: nobody answers the dialog in time.
func TestSilenceIsHandedOver(t *testing.T) {
	r := newRig(t)
	r.stop()
	r.realtime = 300 * time.Millisecond
	r.boot()
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, key := r.member("olga", policy.Owner)
	d := newDialogs()
	headers := bearer(key)
	headers["Holm-Hold"] = "10m"
	done := later(t.Context(), r.clientWith(headers, d.options()), "record", map[string]any{"n": 1})
	<-d.asked
	<-d.gone
	request := r.asked(approvals.Pending)
	for deadline := time.Now().Add(time.Minute); r.cards(request.ID) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no cards")
		}
	}
	r.decide(request, true, policy.Single, "") // the held call goes on waiting
	if got := <-done; got.Text != "recorded" {
		t.Errorf("approved later: %+v", got)
	}
	if requested, resolved := r.modes(request.ID); requested != "realtime" || resolved != "async" {
		t.Errorf("modes %s and %s", requested, resolved)
	}
}

// TestAnAnswerElsewhereEndsTheDialog: a review over the API counts as well.
func TestAnAnswerElsewhereEndsTheDialog(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, key := r.member("olga", policy.Owner)
	d := newDialogs()
	done := later(t.Context(), r.clientWith(bearer(key), d.options()), "record", map[string]any{"n": 1})
	<-d.asked
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	<-d.gone
	if got := <-done; got.Text != "recorded" {
		t.Errorf("approved elsewhere: %+v", got)
	}
}

// TestWhoIsNotAsked: others than owners, clients without dialogs, and rules that
// one owner's word does not satisfy go to the owners at once.
func TestWhoIsNotAsked(t *testing.T) {
	for name, c := range map[string]struct {
		role     policy.Role
		blind    bool
		settings policy.ApprovalSettings
		args     map[string]any
	}{
		"a user":         {role: policy.User},
		"a guest":        {role: policy.Guest},
		"the bare key":   {},
		"no dialogs":     {role: policy.Owner, blind: true},
		"two have to":    {role: policy.Owner, settings: policy.ApprovalSettings{Quorum: 2}},
		"others have to": {role: policy.Owner, settings: policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToRole(policy.User)}}},
		"with a reason":  {role: policy.Owner, settings: policy.ApprovalSettings{RequireReason: true}},
		"too large":      {role: policy.Owner, args: map[string]any{"n": strings.Repeat("x", 10_000)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.member("oscar", policy.Owner)
			r.member("una", policy.User)
			key := r.key
			if c.role != "" {
				_, key = r.member("max", c.role)
			}
			r.rule("record", policy.RequireApproval, policy.Scope{Approval: &c.settings})
			d := newDialogs()
			options := d.options()
			if c.blind {
				options = nil
			}
			got := call(t.Context(), r.clientWith(bearer(key), options), "record", c.args)
			request := r.asked(approvals.Pending)
			if got.Kind != "APPROVAL_REQUIRED" || len(d.asked) != 0 || request.Mode != "async" || r.cards(request.ID) == 0 {
				t.Errorf("%+v; %d dialogs, mode %s, %d cards", got, len(d.asked), request.Mode, r.cards(request.ID))
			}
		})
	}
}

// TestADialogAndACardAtOnce: of the answers that come at the same moment one
// counts, the call does what that one says, and all are told of it alike.
func TestADialogAndACardAtOnce(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, key := r.member("olga", policy.Owner)
	d := newDialogs()
	headers := bearer(key)
	headers["Holm-Hold"] = "10m"
	client := r.clientWith(headers, d.options())
	ran := 0
	for n := range 8 {
		done := later(t.Context(), client, "record", map[string]any{"n": n})
		<-d.asked
		request := r.asked(approvals.Pending)
		elsewhere := make(chan error, 1)
		go func() {
			_, err := r.approvals.Decide(context.Background(), approvals.Decision{AgentID: agentName, RequestID: request.ID,
				Actor: approvals.Actor{Admin: true, Name: "operator", Via: "test"}})
			elsewhere <- err
		}()
		d.answers <- accept(map[string]any{"decision": "single"})
		got, err := <-done, <-elsewhere
		now, lookErr := approvals.Lookup(t.Context(), r.pool, request.ID)
		if lookErr != nil {
			t.Fatal(lookErr)
		}
		switch {
		case now.Status == approvals.Approved && got.Text == "recorded" && fault.Is(err, "already_decided"):
			ran++
		case now.Status == approvals.Rejected && got.Kind == "APPROVAL_REJECTED" && err == nil:
			select { // the dialog was withdrawn before it took the answer, or has taken it
			case <-d.answers:
			default:
			}
		default:
			t.Errorf("%s; the caller got %+v, the card %v", now.Status, got, err)
		}
		for len(d.gone) > 0 {
			<-d.gone
		}
	}
	if got := r.ran(); len(got) != ran {
		t.Errorf("ran %d times, approved %d", len(got), ran)
	}
}

// TestADialogAtTheDeadline: the answer that comes after the question has expired
// decides nothing, and the caller is told that.
func TestADialogAtTheDeadline(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, key := r.member("olga", policy.Owner)
	d := newDialogs()
	done := later(t.Context(), r.clientWith(bearer(key), d.options()), "record", map[string]any{"n": 1})
	<-d.asked
	request := r.asked(approvals.Pending)
	if _, err := r.pool.Exec(t.Context(), `UPDATE approval_requests SET expires_at = clock_timestamp() WHERE id = $1`, request.ID); err != nil {
		t.Fatal(err)
	}
	d.answers <- accept(map[string]any{"decision": "persistent"})
	if got := <-done; got.Kind != "APPROVAL_EXPIRED" && got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("got %+v", got)
	}
	if _, err := r.approvals.Expire(t.Context(), request.ID); err != nil {
		t.Fatal(err)
	}
	if now := r.asked(approvals.Expired); now.ID != request.ID || r.ran() != nil || r.cards(request.ID) != 0 {
		t.Errorf("%+v, ran %v, %d cards", now, r.ran(), r.cards(request.ID))
	}
}

// TestTheClientOfADialogLeaves: the owners are asked, and what they approve waits
// for the same call.
func TestTheClientOfADialogLeaves(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, key := r.member("olga", policy.Owner)
	d := newDialogs()
	client := r.clientWith(bearer(key), d.options())
	ctx, leave := context.WithCancel(t.Context())
	done := later(ctx, client, "record", map[string]any{"n": 1})
	<-d.asked
	request := r.asked(approvals.Pending)
	leave()
	<-done
	for deadline := time.Now().Add(time.Minute); r.cards(request.ID) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the owners were not asked")
		}
	}
	d.answers <- accept(map[string]any{"decision": "persistent"}) // too late: nobody is there to hear it
	r.decide(request, true, policy.Single, "")
	if got := call(t.Context(), client, "record", map[string]any{"n": 1}); got.Text != "recorded" || len(r.ran()) != 1 {
		t.Errorf("the same call later: %+v, ran %v", got, r.ran())
	}
}
