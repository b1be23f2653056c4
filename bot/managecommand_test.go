package bot_test

import (
	"strings"
	"testing"

	"holm/bot"
	"holm/policy"
	"holm/policy/rulestore"
)

func (w *world) rules() (rows []rulestore.Row) {
	w.t.Helper()
	return must(rulestore.List(w.ctx, w.pool, "main", ""))
}

func TestOwnersWriteRulesInWords(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	gus := w.member("chat", "gus", policy.Guest, "main")
	contains(t, w.says("ann", "policies"), "no rules")
	contains(t, w.says("ann", "allow list"), "allow mcp__shop__list to any", "To undo: forget @main mcp__shop__list allow")
	contains(t, w.says("ann", "ask mcp__shop__* to gus circle:night owner"), "ask mcp__shop__* to user:"+gus+" circle:night role:owner")
	contains(t, w.says("ann", "policies"), "allow mcp__shop__list to any", "ask mcp__shop__*")
	contains(t, w.says("ann", "explain list as gus"), "require_approval", "ask mcp__shop__*")
	contains(t, w.says("ann", `explain list max=1`), "mcp__shop__list for the agent's own key: allow")
	contains(t, w.says("ann", "deny list"), "Nothing was changed", "would lose")
	contains(t, w.says("ann", "deny list force"), "Stored for agent main: deny mcp__shop__list")
	contains(t, w.says("ann", "forget list deny"), "to undo, send them again", "deny mcp__shop__list to any")
	contains(t, w.says("ann", "forget list deny"), "no tool row")
	if n := len(w.rules()); n != 2 {
		t.Errorf("%d rows", n)
	}
	for line, want := range map[string]string{
		"allow":                "Which tool, and to whom?",
		"allow list gus":       "Which tool, and to whom?",
		"allow list to":        "Which tool, and to whom?",
		"allow nothing":        "no tool “nothing”",
		"allow list to nobody": "no person “nobody”",
		"deny @other list":     "no owner of an agent other",
		"explain":              "Which tool?",
		"explain list as zed":  "no person “zed”",
		"forget list maybe":    "Which rule?",
	} {
		contains(t, w.says("ann", line), want, "Usage: ")
	}
	for _, line := range []string{"policies", "explain list", "allow list", "deny list", "ask list", "forget list", "users", "role ann guest", "circle list", "mute 1h", "quiet off"} {
		if text := w.says("gus", line); !strings.HasPrefix(text, "Only ") {
			t.Errorf("%q tells a guest %q", line, text)
		}
	}
	if n := len(w.rules()); n != 2 {
		t.Errorf("%d rows after wrong words", n)
	}
}

func TestARuleThatIsSentAgainIsStoredOnce(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	for range 3 {
		w.storeAs("1", bot.Event{Kind: bot.Text, Identity: "ann", Direct: true, Text: "allow list"})
	}
	w.hears("ann", "Stored for agent main")
	w.says("ann", "whoami")
	if rows := w.rules(); len(rows) != 1 || rows[0].Version != 1 {
		t.Errorf("rows %+v", rows)
	}
}

func TestOwnersManagePeople(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	gus := w.member("chat", "gus", policy.Guest, "main")
	r := w.ask(`{}`)
	contains(t, w.says("ann", "users"), "Ann · owner · chat:ann", "Gus · guest · chat:gus")
	contains(t, w.says("ann", "circle list"), "no circles")
	contains(t, w.says("ann", "circle add night gus"), "Gus is in circle night", "To undo: circle @main remove night "+gus)
	contains(t, w.says("ann", "circle list"), "night: Gus")
	contains(t, w.says("ann", "circle remove night chat:gus"), "no longer in circle night")
	contains(t, w.says("ann", "circle remove night gus"), "is not in circle")
	contains(t, w.says("ann", "role gus owner"), "Gus is now owner of agent main. To undo: role @main "+gus+" guest")
	w.card("gus", r) // what waits is shown to the new owner
	contains(t, w.says("gus", "role ann user"), "Ann is now user")
	contains(t, w.says("gus", "role gus user"), "no owner left")
	for line, want := range map[string]string{
		"role gus":            "Whose, and which role?",
		"role zed user":       "no person “zed”",
		"role gus king":       "want owner, user or guest",
		"circle add night":    "Say list, add or remove",
		"circle add 1x gus":   "want a letter",
		"circle join night x": "Say list, add or remove",
	} {
		contains(t, w.says("gus", line), want)
	}
}

func TestALoweredRoleSaysWhatEnds(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.member("chat", "bob", policy.Owner, "main")
	for _, line := range []string{"approve 1 hour", "approve 2 always"} {
		w.ask(`{"title":"` + line + `"}`)
		number := "#" + strings.Fields(line)[1]
		w.see("the card", func() bool { return w.find("bob", number) != nil })
		contains(t, w.says("bob", line), "request #")
	}
	contains(t, w.says("ann", "role bob guest"), "is now guest of agent main",
		"Ended: approval 1 of agent main (github__create_issue, for a time, for requester of main, by Bob)",
		"Still stands: approval 2 of agent main (github__create_issue, always, for requester of main, by Bob). To end it: revoke 2")
	contains(t, w.says("ann", "role bob owner"), "is now owner", "Still stands: approval 2")
	contains(t, w.says("ann", "status 1"), "Revoked by Ann at ")
}
