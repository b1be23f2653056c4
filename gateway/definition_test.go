package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/servers"
	"holm/policy"
)

// resolutions are the ways to approve.
var resolutions = []policy.Resolution{policy.Single, policy.Once, policy.Persistent}

func (r *rig) modify(change func(*servers.Server)) {
	r.t.Helper()
	if _, err := r.servers.Modify(context.Background(), "fix", "test", change); err != nil {
		r.t.Fatal(err)
	}
}

// TestWhatRunsUnderANameIsWhatWasApproved: after a change of it nothing that was
// approved before lets a call through, and the new question says what changed.
func TestWhatRunsUnderANameIsWhatWasApproved(t *testing.T) {
	for what, c := range map[string]struct {
		change func(r *rig)
		want   string
	}{
		"a command": {func(r *rig) {
			r.modify(func(s *servers.Server) { s.Command = append(s.Command, "--more") })
		}, "the server's command changed"},
		"a variable": {func(r *rig) {
			r.modify(func(s *servers.Server) { s.Env["MODE"] = "other" })
		}, "the server's environment changed"},
		"replaced": {func(r *rig) {
			old, err := r.servers.Get(context.Background(), "fix")
			if err == nil {
				err = r.servers.Remove(context.Background(), "fix", "test", func(pgx.Tx) error { return nil })
			}
			if err == nil {
				_, err = r.servers.Add(context.Background(), old, "test")
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}, "the server was replaced by another of its name"},
		"a secret's value": {func(r *rig) {
			r.modify(func(s *servers.Server) { s.Env["API_TOKEN"] = "second" })
		}, ""},
		"a restart": {func(r *rig) { r.stop(); r.boot() }, ""},
	} {
		for _, resolution := range resolutions {
			t.Run(what+"/"+string(resolution), func(t *testing.T) {
				r := newRig(t)
				r.modify(func(s *servers.Server) { s.Env["API_TOKEN"] = "first" })
				r.rule("record", policy.RequireApproval, policy.Scope{})
				ask := func() reply {
					return call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
				}
				ask()
				first := r.asked(approvals.Pending)
				r.answer(first, resolution)
				c.change(r)
				got := ask()
				if c.want == "" {
					if got.Text != "recorded" {
						t.Errorf("nothing changed, but %+v", got)
					}
					return
				}
				second := r.next(1)
				if got.Kind != "APPROVAL_REQUIRED" || !strings.Contains(got.Text, c.want+" since request 1 was approved") || r.ran() != nil {
					t.Errorf("got %+v, ran %v", got, r.ran())
				}
				if !strings.HasPrefix(second.RuleText, c.want+" since request 1 was approved; ") {
					t.Errorf("why: %s", second.RuleText)
				}
				r.answer(second, resolution)
				if got := ask(); got.Text != "recorded" {
					t.Errorf("approved anew, but %+v", got)
				}
			})
		}
	}
}

// shopServer is an HTTP upstream whose tool record can be listed anew.
type shopServer struct {
	*mcp.Server
	log string
}

func (s *shopServer) list(change func(*mcp.Tool)) {
	tool := &mcp.Tool{Name: "record", Description: "records", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "number"}, "m": map[string]any{}}}}
	change(tool)
	s.AddTool(tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(string(req.Params.Arguments) + "\n")
			_ = f.Close()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "recorded"}}}, err
	})
}

// TestAToolThatIsListedAnewIsAnotherTool: not one that is listed with the same words
// in another order.
func TestAToolThatIsListedAnewIsAnotherTool(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*mcp.Tool)
		want   string
	}{
		"a description": {func(t *mcp.Tool) { t.Description = "records, and pays" }, "the tool's description changed"},
		"a schema":      {func(t *mcp.Tool) { t.InputSchema = map[string]any{"type": "object"} }, "the tool's input schema changed"},
		"an annotation": {func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true} }, "the tool's annotations changed"},
		"a title":       {func(t *mcp.Tool) { t.Title = "Recorder" }, ""},
	} {
		for _, resolution := range resolutions {
			for _, way := range []string{"mcp", "enforce"} {
				t.Run(strings.Join([]string{what, string(resolution), way}, "/"), func(t *testing.T) {
					r := newRig(t)
					shop := &shopServer{mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil), r.log}
					shop.list(func(*mcp.Tool) {})
					web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shop.Server }, nil))
					t.Cleanup(func() {
						r.stop()
						for s := range shop.Sessions() {
							_ = s.Close()
						}
						web.CloseClientConnections()
						web.Close()
					})
					r.modify(func(s *servers.Server) { s.Command, s.Env, s.URL = nil, nil, web.URL })
					r.rule("record", policy.RequireApproval, policy.Scope{})
					ask := func() string { return r.enforced(0) }
					if way == "mcp" {
						ask = func() string {
							return call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1}).Text
						}
					}
					ask()
					r.answer(r.asked(approvals.Pending), resolution)
					before := r.gateway.Definition("fix", "mcp__fix__record")
					shop.list(c.change)
					if c.want == "" {
						r.listed(func(text string) bool { return strings.Contains(text, "Recorder") })
						if got := ask(); !strings.Contains(got, "recorded") {
							t.Errorf("nothing of it changed, but %s", got)
						}
						return
					}
					for deadline := time.Now().Add(5 * time.Minute); r.gateway.Definition("fix", "mcp__fix__record") == before; time.Sleep(5 * time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatal("the change is not known")
						}
					}
					ask()
					second := r.next(1)
					if second.Settings.Changed != c.want+" since request 1 was approved" || r.ran() != nil {
						t.Errorf("changed: %q, ran %v", second.Settings.Changed, r.ran())
					}
					r.answer(second, resolution)
					if got := ask(); !strings.Contains(got, "recorded") {
						t.Errorf("approved anew, but %s", got)
					}
				})
			}
		}
	}
}

// listed waits until the list of tools is so.
func (r *rig) listed(holds func(string) bool) {
	r.t.Helper()
	session := r.client(nil)
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		list, err := session.ListTools(context.Background(), nil)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if holds(tool.Title) {
				return
			}
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the list is not so")
		}
	}
}

// TestAServerThatIsAwayEndsNoApproval: what cannot be known is not asked about.
func TestAServerThatIsAwayEndsNoApproval(t *testing.T) {
	r := newRig(t)
	program := r.program()
	away := program + ".away"
	r.modify(func(s *servers.Server) { s.Command[0] = program })
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.enforced(0)
	r.answer(r.asked(approvals.Pending), policy.Persistent)
	if got := r.enforced(0); !strings.HasPrefix(got, "recorded") {
		t.Fatalf("always, but %s", got)
	}
	if err := os.Rename(program, away); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.boot()
	if got := r.enforced(0); !strings.HasPrefix(got, "server_unavailable") {
		t.Errorf("the server is away, and the gate says %s", got)
	}
	if err := os.Rename(away, program); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if got := r.enforced(0); strings.HasPrefix(got, "recorded") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("it is back, and the gate says %s", got)
		}
	}
	r.waitsFor(1)
}

// program makes the fixture run from a place of the test's own.
func (r *rig) program() string {
	r.t.Helper()
	path := r.t.TempDir() + "/fixture"
	own, err := os.Executable()
	if err == nil {
		err = os.Symlink(own, path)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return path
}
