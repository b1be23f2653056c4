package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRunFromTheChat is a call that the owner types: the gate asks, the owner
// taps, the result comes as a message, and the server was called once.
func TestRunFromTheChat(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newProcess(t, env...)
	telegram.WaitPoll()
	_, seen := p.setUp("main")

	telegram.Redeliver(owner.Command("run record order=1042 n=1").UpdateID)
	telegram.WaitMessage(ownerID, shows("Waiting for approval: request #1"))
	telegram.WaitAnswer(owner.Click(telegram.WaitMessage(ownerID, open), "Approve this call"))
	telegram.WaitMessage(ownerID, shows("✅ mcp__fix__record"))
	if diff := cmp.Diff([]string{`{"order":1042,"n":1}`}, seen()); diff != "" {
		t.Error(diff)
	}
	telegram.Settle()
}

// TestKillDuringATypedCall kills holm while a call that needs no approval runs:
// the person is told that nobody knows, and it is not sent again.
func TestKillDuringATypedCall(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newEmbedded(t, env...)
	telegram.WaitPoll()
	arrived := p.addSlow("main")
	p.holm("revoke", "main", "lazy", "--tool", "slow")
	p.holm("grant", "main", "lazy", "--tool", "slow")

	owner.Say("run slow ms=60000")
	arrived(1)
	p.kill()
	p.start()
	telegram.WaitMessage(ownerID, shows("outcome is unknown"))
	arrived(1)
	telegram.Settle()
}
