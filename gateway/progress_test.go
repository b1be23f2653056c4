package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/policy"
)

// watching is a client that notes the progress it is told.
func (r *rig) watching(notes chan<- *mcp.ProgressNotificationParams) *mcp.ClientSession {
	r.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { notes <- req.Params },
	})
	session, err := c.Connect(r.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: r.url, HTTPClient: &http.Client{Transport: headerTransport{"Authorization": "Bearer " + r.key}}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = session.Close() })
	return session
}

func withToken(name string, args map[string]any, token any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "mcp__fix__" + name, Arguments: args, Meta: mcp.Meta{"progressToken": token}}
}

// TestUpstreamProgressArrivesBeforeTheResult also keeps the client's own token,
// whatever its type.
func TestUpstreamProgressArrivesBeforeTheResult(t *testing.T) {
	r := newRig(t)
	r.rule("slow", policy.Allow, policy.Scope{})
	notes := make(chan *mcp.ProgressNotificationParams, 100)
	session := r.watching(notes)
	if _, err := session.CallTool(t.Context(), withToken("slow", map[string]any{"ms": 50, "progress": 3}, "mine")); err != nil {
		t.Fatal(err)
	}
	for want := 1.0; want <= 3; want++ {
		if got := <-notes; got.Progress != want || got.ProgressToken != "mine" {
			t.Errorf("progress %v with token %v, want %v with mine", got.Progress, got.ProgressToken, want)
		}
	}
}

// TestWaitingCallReportsProgress keeps clients alive that reset their time-out
// on progress.
func TestWaitingCallReportsProgress(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	notes := make(chan *mcp.ProgressNotificationParams, 100)
	session := r.watching(notes)
	failed := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), withToken("record", map[string]any{}, 7))
		failed <- err
	}()
	request := r.asked(approvals.Pending)
	first := <-notes
	if !strings.Contains(first.Message, "waiting for approval of request 1") {
		t.Errorf("the first report says %q", first.Message)
	}
	r.decide(request, true, policy.Single, "")
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// TestWaitingCallHearsThatNobodyIsReached says so in what it reports.
func TestWaitingCallHearsThatNobodyIsReached(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	args := map[string]any{"n": 1}
	call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", args)
	request := r.asked(approvals.Pending)
	if _, err := r.pool.Exec(t.Context(), `UPDATE approval_requests SET created_at = created_at - interval '61 seconds'`); err != nil {
		t.Fatal(err)
	}
	if err := r.approvals.MarkUndelivered(t.Context(), request.ID); err != nil {
		t.Fatal(err)
	}
	notes := make(chan *mcp.ProgressNotificationParams, 100)
	session := r.watching(notes)
	failed := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), withToken("record", args, 7))
		failed <- err
	}()
	if first := <-notes; !strings.Contains(first.Message, "undelivered: nobody who may answer") {
		t.Errorf("the report says %q", first.Message)
	}
	r.decide(request, true, policy.Single, "")
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}
