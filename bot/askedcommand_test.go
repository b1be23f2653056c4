package bot_test

import (
	"strings"
	"testing"

	"holm/policy"
)

func TestRequestersSeeTheirOwnRequestsAlone(t *testing.T) {
	w := newWorld(t)
	gus := w.member("chat", "gus", policy.Guest, "main")
	w.member("chat", "uma", policy.User, "main")
	w.owner("ann")
	contains(t, w.says("gus", "requests"), "asked for nothing")
	own := w.askAs("main", gus, `{"n":1}`, nil)
	w.ask(`{"n":2}`)

	text := w.says("gus", "requests")
	contains(t, text, "#1 · github__create_issue · waits for an owner until")
	if strings.Contains(text, "#2") {
		t.Errorf("another's request is listed: %q", text)
	}
	contains(t, w.says("gus", "status 1"), "Request #1: github__create_issue", "Why: ")
	for _, line := range []string{"status 2", "status main#2", "status other#1", "status @main 2"} {
		contains(t, w.says("gus", line), "no request #")
	}
	contains(t, w.says("uma", "status 1"), "no request #1")
	contains(t, w.says("ann", "status 2"), "Request #2")

	w.says("ann", "reject 1 wrong repo")
	w.linkCard("gus", "Request #1 (") // the news of it, not to be taken for the reply
	contains(t, w.says("gus", "status 1"), "Rejected by Ann", "wrong repo")
	if w.now(own).Status != "rejected" {
		t.Error("not rejected")
	}
}

func TestHelpShowsWhatTheRoleMayDo(t *testing.T) {
	w := newWorld(t)
	w.member("chat", "gus", policy.Guest, "main")
	w.owner("ann")
	for who, want := range map[string]struct{ has, lacks string }{
		"gus": {"requests", "reject"},
		"ann": {"reject N", "zzz"},
	} {
		text := w.says(who, "help")
		contains(t, text, want.has)
		if strings.Contains(text, want.lacks) {
			t.Errorf("%s is shown %q", who, text)
		}
	}
	contains(t, w.says("gus", "help reject"), "no command “reject”")
}
