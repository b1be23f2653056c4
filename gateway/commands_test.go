package gateway_test

import (
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/servers"
	"holm/policy"
)

// shelled is a rig whose record tool runs its command.
func shelled(t *testing.T) *rig {
	r := newRig(t)
	_, err := r.servers.Modify(t.Context(), "fix", "test", func(s *servers.Server) {
		s.Maps = []servers.Map{{Tool: "record", Type: "exec", Arg: "command", CWD: "dir"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	r.rule("record", policy.Allow, policy.Scope{})
	return r
}

// TestCommandsInOtherWordsAreAskedAbout: a rule for a program holds however the
// command is written and whichever program runs it.
func TestCommandsInOtherWordsAreAskedAbout(t *testing.T) {
	r := shelled(t)
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "*", Effect: policy.Allow})
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "terraform *", Effect: policy.Deny})
	r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/etc", Effect: policy.Deny})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	for command, reason := range map[string]string{
		`"terraform" apply`:             "on exec terraform *",
		`terra\form apply`:              "on exec terraform *",
		`/usr/bin/terraform apply`:      "on exec terraform *",
		`env A=1 terraform apply`:       "on exec terraform *",
		`timeout 60 terraform apply`:    "on exec terraform *",
		`sudo -u root terraform apply`:  "on exec terraform *",
		`bash -c 'terraform apply'`:     "on exec terraform *",
		`eval 'terraform apply'`:        "on exec terraform *",
		`ls; terraform apply`:           `on exec terraform * for the command "terraform apply"`,
		`$X apply`:                      "cannot be judged: an expansion in it is known only when it runs",
		`ls; python3 -c 'x'`:            `cannot be judged: "python3 -c 'x'": its program is given code to run`,
		`git -c alias.x='!terraform' x`: "cannot be judged: an option of its program is not known",
		`echo x > /etc/passwd`:          "deny on file /etc",
		`cd /etc && echo x > passwd`:    "deny on file /etc",
		`echo x > ../etc/passwd`:        "cannot be judged: it opens a file in a directory that is not known",
	} {
		got := call(t.Context(), session, "record", map[string]any{"command": command})
		if got.Kind != "AUTHORIZATION_DENIED" || !strings.Contains(got.Text, reason) {
			t.Errorf("%s: %+v, want the reason %s", command, got, reason)
		}
	}
	for _, command := range []string{"git log | head", "git log -S 'terraform;'", "echo terraform", "ls 2>/dev/null; true"} {
		if got := call(t.Context(), session, "record", map[string]any{"command": command}); got.IsError || got.Err != nil {
			t.Errorf("%s: %+v, want it to run", command, got)
		}
	}
}

// TestTheRestIsAskedAbout: rows that allow some commands are exceptions from one that
// asks about any.
func TestTheRestIsAskedAbout(t *testing.T) {
	r := shelled(t)
	for _, command := range []string{"git log *", "head *"} {
		r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: command, Effect: policy.Allow})
	}
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "*", Effect: policy.RequireApproval})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	for command, kind := range map[string]string{
		"git log -1 | head": "", "git log; make": "APPROVAL_REQUIRED", "git log > x": "APPROVAL_REQUIRED", "git log $(id)": "APPROVAL_REQUIRED",
	} {
		if got := call(t.Context(), session, "record", map[string]any{"command": command}); got.Err != nil || got.Kind != kind {
			t.Errorf("%s: %+v, want %q", command, got, kind)
		}
	}
}

// TestAlwaysCoversTheVeryCompound: what an approval of a compound leaves is about its
// text and no other, also where a rule about a file asked.
func TestAlwaysCoversTheVeryCompound(t *testing.T) {
	r := shelled(t)
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "*", Effect: policy.Allow})
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "make *", Effect: policy.RequireApproval})
	r.put(policy.Row{ResourceType: policy.TypeFile, ResourceKey: "/srv/out", Effect: policy.RequireApproval})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	run := func(command string) string {
		got := call(t.Context(), session, "record", map[string]any{"command": command, "dir": "/srv"})
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		return got.Kind
	}
	const compound = "cd sub && make 'all  of it' > ../out/log; echo $X"
	if got := run(compound); got != "APPROVAL_REQUIRED" {
		t.Fatalf("the compound: %q, want a question", got)
	}
	request := r.asked(approvals.Pending)
	r.decide(request, true, policy.Persistent, "")
	for command, want := range map[string]string{
		compound:              "",
		compound + "; make":   "APPROVAL_REQUIRED",
		"make 'all  of it'":   "APPROVAL_REQUIRED",
		"echo > /srv/out/log": "APPROVAL_REQUIRED",
		strings.ReplaceAll(compound, "all  of", "all of"): "APPROVAL_REQUIRED",
	} {
		if got := run(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestAQuestionAboutWhatCannotBeJudgedNamesNoOtherRule: its card says why it was asked.
func TestAQuestionAboutWhatCannotBeJudgedNamesNoOtherRule(t *testing.T) {
	r := shelled(t)
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "*", Effect: policy.Allow})
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "terraform *", Effect: policy.RequireApproval})
	r.put(policy.Row{ResourceType: policy.TypeExec, ResourceKey: "rm *", Effect: policy.RequireApproval})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	got := call(t.Context(), session, "record", map[string]any{"command": "echo $HOME"})
	if got.Kind != "APPROVAL_REQUIRED" {
		t.Fatalf("%+v, want a question", got)
	}
	request := r.asked(approvals.Pending)
	if want := "the command cannot be judged before it runs: an expansion in it is known only when it runs"; request.RuleText != want {
		t.Errorf("the reason is %q, want %q", request.RuleText, want)
	}
}
