package bot_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
	"holm/policy"
)

func TestOwnersTakeGrantsBackInWords(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.member("chat", "gus", policy.Guest, "main")
	contains(t, w.says("ann", "grants"), "No approval lets anything through")
	for _, line := range []string{"approve 1", "approve 2 hour", "approve 3 always"} {
		w.ask(`{"title":"` + line + `"}`)
		number := "#" + strings.Fields(line)[1]
		w.see("the card of "+number, func() bool { return w.find("ann", number) != nil })
		contains(t, w.says("ann", line), "request #")
	}
	contains(t, w.says("ann", "grants"),
		"#1 · github__create_issue · requester of main · one call, until 20",
		"#2 · github__create_issue · requester of main · these arguments until 20",
		"#3 · github__create_issue · requester of main · any arguments always, used 0×",
		"revoke N")
	for line, reply := range map[string]string{
		"grants": "Only an owner", "revoke 1": "Only an owner",
	} {
		contains(t, w.says("gus", line), reply)
	}
	contains(t, w.says("ann", "revoke"), "Which one?")
	contains(t, w.says("ann", "revoke x"), "not the number")
	contains(t, w.says("ann", "revoke 9"), "no request #9")
	w.ask(`{}`)
	contains(t, w.says("ann", "revoke 4"), "left no grant")
	for _, line := range []string{"revoke 1", "/revoke #2", "REVOKE main#3"} {
		contains(t, w.says("ann", line), "Revoked: github__create_issue for requester of main")
	}
	contains(t, w.says("ann", "revoke 1"), "already revoked by Ann")
	contains(t, w.says("ann", "status 1"), "Revoked by Ann at ", "The call has not run.")
	for _, head := range []string{"#1", "#2", "#3"} {
		w.see("the card of "+head+" says so", func() bool {
			notes := strings.Join(w.find("ann", head).card.Notes, "\n")
			return strings.Contains(notes, "Revoked by Ann at ") && !strings.Contains(notes, "it may until")
		})
	}
	contains(t, w.says("ann", "grants"), "No approval lets anything through")
}

func TestGrantsNameTheirAgentWhereThereAreSeveral(t *testing.T) {
	w := newWorld(t)
	w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(w.ctx, tx, "other", "test")
		return err
	})
	w.owner("ann")
	w.member("chat", "ann", policy.Owner, "other")
	w.owner("bob")
	w.askAs("other", "agent:other", `{}`, nil)
	contains(t, w.says("ann", "approve 1 hour"), "Approved")
	contains(t, w.says("ann", "grants"), "other#1 · ")
	contains(t, w.says("bob", "grants"), "No approval lets anything through")
	contains(t, w.says("bob", "revoke other#1"), "no request #1")
	contains(t, w.says("ann", "revoke other#1"), "Revoked")
}

func TestForgettingARowEndsItsApproval(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.ask(`{}`)
	w.see("the card", func() bool { return w.find("ann", "#1") != nil })
	contains(t, w.says("ann", "approve 1 always"), "request #1")
	w.exec(`UPDATE agent_policies SET resource_key = 'mcp__github__create_issue'`) // a name that forget takes
	contains(t, w.says("ann", "forget mcp__github__create_issue allow"), "Deleted for agent main")
	contains(t, w.says("ann", "grants"), "No approval lets anything through")
	contains(t, w.says("ann", "status 1"), "Revoked by Ann at ", "The call has not run.")
}
