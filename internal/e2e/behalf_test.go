package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectFor opens an MCP session whose calls are made in a session of Holm.
func (p *process) connectFor(session, key, hold string) *mcp.ClientSession {
	p.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	s, err := client.Connect(p.t.Context(), &mcp.StreamableClientTransport{
		Endpoint:             p.url + "/mcp",
		HTTPClient:           &http.Client{Transport: headers{"Authorization": "Bearer " + key, "Holm-Hold": hold, "Holm-Session": session}},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		p.t.Fatalf("connect: %v\n%s", err, p.log)
	}
	p.t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestAnAgentWorksForAGuest: a guest writes to the agent in Telegram; the
// agent's program learns of it, calls a tool for the guest, an owner approves,
// and the answer comes back to the guest's chat.
func TestAnAgentWorksForAGuest(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	guest := telegram.PersonWithID(700002, "Gus").Open()
	p := newProcess(t, env...)
	telegram.WaitPoll()
	key, seen := p.setUp("main")
	p.holm("modify", "agent", "main", "--access", "public")
	events := p.follow("/api/agents/main/events", key)

	guest.Say("refund order 1042, please")
	e := p.nextEvent(events, "user_message")
	var said struct{ Text, Name, UserID string }
	e.payload(t, &said)
	session := e.session(t)
	if said.Text != "refund order 1042, please" || said.Name != "Gus" || !strings.HasPrefix(session, "chat:") {
		t.Fatalf("the program learns %s", e.Data)
	}

	done := later(t.Context(), p.connectFor(session, key, "10m"), map[string]any{"order": "1042"})
	card := telegram.WaitMessage(ownerID, open)
	if !strings.Contains(card.Text, "Gus (guest) via agent main") {
		t.Errorf("the card does not say for whom:\n%s", card.Text)
	}
	var requested struct{ RequestID string }
	asked := p.nextEvent(events, "approval_requested")
	asked.payload(t, &requested)
	if asked.session(t) != session {
		t.Errorf("asked in another session: %s", asked.Data)
	}
	telegram.WaitAnswer(owner.Click(card, "Approve this call"))
	if got := p.within(done); got.Err != nil || got.Failed || got.Text != "recorded" {
		t.Fatalf("the call: %+v\n%s", got, p.log)
	}
	if diff := cmp.Diff([]string{`{"order":"1042"}`}, seen()); diff != "" {
		t.Error(diff)
	}
	telegram.WaitMessage(guest.ID, shows("Request #1 (mcp__fix__record)"))
	if status, body := p.post("/api/agents/main/sessions/"+session+"/messages", key, "", `{"text":"Refunded."}`); status != http.StatusCreated {
		t.Errorf("the answer: %d %s", status, body)
	}
	telegram.WaitMessage(guest.ID, shows("Refunded."))

	// What the guest began is over with a fresh conversation.
	guest.Say("new")
	telegram.WaitMessage(guest.ID, shows("A fresh conversation with agent main"))
	got := call(t.Context(), p.connectFor(session, key, "0s"), map[string]any{"order": "1043"})
	if got.Err == nil || !strings.Contains(got.Err.Error(), "Holm-Session") {
		t.Errorf("in the old session: %+v", got)
	}
	telegram.Settle()
}
