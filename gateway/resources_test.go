package gateway_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/servers"
	"holm/policy"
)

// mapped is a rig whose record tool reads the file named by its path.
func mapped(t *testing.T) *rig {
	r := newRig(t)
	_, err := r.servers.Modify(t.Context(), "fix", "test", func(s *servers.Server) {
		s.Maps = []servers.Map{
			{Tool: "record", Type: "file", Mode: "read", Arg: "path"},
			{Tool: "record", Type: "file", Mode: "write", Arg: "out[].file"},
			{Tool: "record", Type: "exec", Arg: "command", CWD: "dir"},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// absent takes an argument out of a call.
const absent = "(absent)"

func TestFileAndExecRowsGovernMappedTools(t *testing.T) {
	r := mapped(t)
	r.rule("record", policy.Allow, policy.Scope{})
	r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/srv/public", Effect: policy.Allow, Scope: policy.Scope{Mode: "read"}})
	r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/srv/public/secret", Effect: policy.Deny})
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "git log *", Effect: policy.Allow})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	cases := map[string]struct {
		args map[string]any
		kind string
	}{
		"inside":                  {map[string]any{"path": "/srv/public/a.txt"}, ""},
		"outside":                 {map[string]any{"path": "/srv/private/a.txt"}, "AUTHORIZATION_DENIED"},
		"climbing out":            {map[string]any{"path": "/srv/public/../private/a.txt"}, "AUTHORIZATION_DENIED"},
		"a denied part":           {map[string]any{"path": "/srv/public//./secret/x"}, "AUTHORIZATION_DENIED"},
		"a relative path":         {map[string]any{"path": "a.txt"}, "AUTHORIZATION_DENIED"},
		"no path at all":          {map[string]any{"path": absent}, "AUTHORIZATION_DENIED"},
		"a path that is a number": {map[string]any{"path": 1}, "AUTHORIZATION_DENIED"},
		"a path that is null":     {map[string]any{"path": nil}, "AUTHORIZATION_DENIED"},
		"a path in another case":  {map[string]any{"path": "/srv/public/a.txt", "Path": "/etc/shadow"}, "AUTHORIZATION_DENIED"},
		"writing, no row":         {map[string]any{"out": []any{map[string]any{"file": "/anywhere"}}}, ""},
		"writing nothing":         {map[string]any{"out": []any{}}, ""},
		"writing null":            {map[string]any{"out": nil}, "AUTHORIZATION_DENIED"},
		"writing a denied part":   {map[string]any{"out": []any{map[string]any{"file": "/x"}, map[string]any{"file": "/srv/public/secret"}}}, "AUTHORIZATION_DENIED"},
		"an allowed command":      {map[string]any{"command": "git log  -1"}, ""},
		"no command":              {map[string]any{"command": absent}, "AUTHORIZATION_DENIED"},
		"another command":         {map[string]any{"command": "rm -r /"}, "AUTHORIZATION_DENIED"},
		"a command and more":      {map[string]any{"command": "git log -1; rm -r /"}, "AUTHORIZATION_DENIED"},
	}
	for name, c := range cases {
		// What the case is not about is there and allowed.
		args := map[string]any{"path": "/srv/public/a.txt", "command": "git log -1"}
		maps.Copy(args, c.args)
		maps.DeleteFunc(args, func(_ string, value any) bool { return value == absent })
		if got := call(t.Context(), session, "record", args); got.Err != nil || got.Kind != c.kind {
			t.Errorf("%s: %+v, want %q", name, got, c.kind)
		}
	}
	for args, reason := range map[string]string{
		`{"command":"git log"}`:             `argument "path" is absent, so the call does not say which file it reaches`,
		`{"command":"git log","path":null}`: `what the call reaches cannot be judged: args: "path" is null`,
	} {
		if got := call(t.Context(), session, "record", json.RawMessage(args)); !strings.Contains(got.Text, reason) {
			t.Errorf("%s: %q, want the reason %s", args, got.Text, reason)
		}
	}
}

// TestRowsAgainstOthersCloseNoLayer: a rule for some is nothing to the others.
func TestRowsAgainstOthersCloseNoLayer(t *testing.T) {
	r := mapped(t)
	r.rule("record", policy.Allow, policy.Scope{})
	for _, effect := range []policy.Effect{policy.Deny, policy.RequireApproval} {
		r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/srv/secret", Effect: effect, Grants: []policy.Grant{policy.ToRole(policy.Guest)}})
		r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "make *", Effect: effect, Grants: []policy.Grant{policy.ToRole(policy.Guest)}})
	}
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	for _, args := range []string{`{"path":"/srv/secret/a"}`, `{"command":"make all"}`, `{}`, `{"out":[{"file":"/srv/secret"}]}`} {
		if got := call(t.Context(), session, "record", json.RawMessage(args)); got.Err != nil || got.IsError {
			t.Errorf("%s: %+v, want it to run", args, got)
		}
	}
}

// TestOneAnswerDoesNotPassForAnother: a window for the tool's rule is none for
// the rule about a file.
func TestOneAnswerDoesNotPassForAnother(t *testing.T) {
	r := mapped(t)
	r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Binding: policy.BindResource}})
	r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/etc", Effect: policy.RequireApproval,
		Scope: policy.Scope{Approval: &policy.ApprovalSettings{Binding: policy.BindResource}}})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	plain, file := map[string]any{"path": "/srv/a"}, map[string]any{"path": "/etc/passwd"}

	call(t.Context(), session, "record", plain)
	r.decide(r.asked(approvals.Pending), true, policy.Once, "")
	if got := call(t.Context(), session, "record", plain); got.IsError {
		t.Fatalf("inside the window: %+v", got)
	}
	if got := call(t.Context(), session, "record", file); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("a file with a rule of its own: %+v, want a question", got)
	}
}

func TestAlwaysAnswersEveryRuleThatAsked(t *testing.T) {
	r := mapped(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/etc", Effect: policy.RequireApproval})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"path": "/etc/passwd"})
	r.decide(r.asked(approvals.Pending), true, policy.Persistent, "")
	for n := range 2 {
		if got := call(t.Context(), session, "record", map[string]any{"path": "/etc/passwd", "n": n}); got.IsError || got.Err != nil {
			t.Errorf("call %d after always: %+v", n, got)
		}
	}
	if got := call(t.Context(), session, "record", map[string]any{"path": "/etc/shadow"}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("another file: %+v, want a question", got)
	}
}

// TestASearchReadsWhatIsBelow: a tool that searches a folder is denied, or asked
// about, where something below it is.
func TestASearchReadsWhatIsBelow(t *testing.T) {
	r := newRig(t)
	if _, err := r.servers.Modify(t.Context(), "fix", "test", func(s *servers.Server) {
		s.Maps = []servers.Map{{Tool: "record", Type: policy.TypeFile, Mode: policy.ModeSearch, Arg: "path"}}
	}); err != nil {
		t.Fatal(err)
	}
	r.rule("record", policy.Allow, policy.Scope{})
	for key, effect := range map[string]policy.Effect{"/srv/a/secret": policy.Deny, "/srv/b/asked": policy.RequireApproval} {
		r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: key, Effect: effect, Grants: []policy.Grant{policy.Any()}})
	}
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	for path, kind := range map[string]string{
		"/srv/c": "", "/srv/a/open": "", "/srv/a": "AUTHORIZATION_DENIED", "/srv": "AUTHORIZATION_DENIED", "/srv/b": "APPROVAL_REQUIRED",
	} {
		if got := call(t.Context(), session, "record", map[string]any{"path": path}); got.Err != nil || got.Kind != kind {
			t.Errorf("%s: %+v, want %q", path, got, kind)
		}
	}
	// An always for the search lets that search through, and not a wider one.
	r.decide(r.asked(approvals.Pending), true, policy.Persistent, "")
	for path, kind := range map[string]string{"/srv/b": "", "/srv/b/asked": "APPROVAL_REQUIRED"} {
		if got := call(t.Context(), session, "record", map[string]any{"path": path}); got.Err != nil || got.Kind != kind {
			t.Errorf("then %s: %+v, want %q", path, got, kind)
		}
	}
}
