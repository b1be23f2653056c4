package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestBothEras walks the SDK's own client through either protocol: list, a held
// call that is approved, one that is rejected, and names that are not there.
func TestBothEras(t *testing.T) {
	for name, version := range map[string]string{"stateful 2025-11-25": "2025-11-25", "stateless, as the client chooses": ""} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t)
			key, seen := p.setUp("main")
			session := p.connectAs(version, key, "60s")
			if got := session.InitializeResult().ProtocolVersion; (got >= "2026-07-28") != (version == "") {
				t.Fatalf("protocol %s", got)
			}
			if diff := cmp.Diff([]string{"mcp__fix__record"}, toolNames(t, session)); diff != "" {
				t.Fatal(diff)
			}
			for _, unlisted := range []string{"mcp__fix__echo", "mcp__fix__nothing", "record"} {
				var wire *jsonrpc.Error
				if got := callNamed(t.Context(), session, unlisted, nil); !errors.As(got.Err, &wire) || wire.Code != -32602 {
					t.Errorf("%s: %+v", unlisted, got)
				}
			}

			done := later(t.Context(), session, map[string]any{"n": 1})
			p.decide("approve", "1")
			if got := p.within(done); got.Text != "recorded" {
				t.Errorf("approved: %+v", got)
			}
			done = later(t.Context(), session, map[string]any{"n": 2})
			p.decide("reject", "2", "--reason", "not today")
			if got := p.within(done); got.Kind != "APPROVAL_REJECTED" || !strings.Contains(got.Text, "not today") {
				t.Errorf("rejected: %+v", got)
			}
			if diff := cmp.Diff([]string{`{"n":1}`}, seen()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCallerWhoGivesUp: a client that cancels its held call ends the wait and
// nothing else; the approval then serves its retry, once.
func TestCallerWhoGivesUp(t *testing.T) {
	for name, version := range map[string]string{"stateful": "2025-11-25", "stateless": ""} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t)
			key, seen := p.setUp("main")
			session := p.connectAs(version, key, "60s")
			ctx, giveUp := context.WithCancel(t.Context())
			done := later(ctx, session, map[string]any{"n": 1})
			p.asked("1")
			giveUp()
			if got := p.within(done); !errors.Is(got.Err, context.Canceled) {
				t.Errorf("cancelled: %+v", got)
			}
			p.decide("approve", "1", "--single")
			for range 2 {
				if got := call(t.Context(), session, map[string]any{"n": 1}); got.Text != "recorded" {
					t.Errorf("retry: %+v", got)
				}
			}
			if ran := seen(); len(ran) != 1 {
				t.Errorf("ran %v, want once", ran)
			}
		})
	}
}

// asked waits until request id exists.
func (p *process) asked(id string) {
	p.t.Helper()
	p.eventually(func() error {
		if out, code := p.try("approvals", "show", id); code != 0 {
			return errors.New(out)
		}
		return nil
	})
}

// decide answers request id as soon as it exists.
func (p *process) decide(answer, id string, flags ...string) {
	p.t.Helper()
	p.asked(id)
	p.holm(append([]string{"approvals", answer, id}, flags...)...)
}

// toolNames are the tools of servers that a session may see, without Holm's own.
func toolNames(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		if strings.HasPrefix(tool.Name, "mcp__") {
			names = append(names, tool.Name)
		}
	}
	return names
}
