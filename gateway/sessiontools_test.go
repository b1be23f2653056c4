package gateway_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/session"
	"holm/policy"
)

// The agent's own key answers in people's conversations once a row lets it;
// people see their own alone.
func TestAgentsAnswerByTools(t *testing.T) {
	r := newRig(t)
	chat := r.person("gus", policy.User)
	_, eveKey := r.member("eve", policy.User)
	r.tx(func(tx pgx.Tx) error {
		_, err := session.Post(t.Context(), tx, nil, chat, chat.RequesterID, session.Message{Text: "hello"})
		return err
	})
	agent, eve := r.client(nil), r.client(map[string]string{"Authorization": "Bearer " + eveKey})
	send := map[string]any{"sessionId": chat.ID, "text": "good day"}
	if text, failed := plain(t, agent, "session_send", send); !failed {
		t.Errorf("without a row: %s", text)
	}
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "session_*", Effect: policy.Allow})
	if text, failed := plain(t, agent, "session_list", nil); failed || !strings.Contains(text, chat.ID) {
		t.Errorf("list: %s", text)
	}
	if text, failed := plain(t, agent, "session_send", send); failed {
		t.Errorf("send: %s", text)
	}
	text, failed := plain(t, agent, "session_read", map[string]any{"sessionId": chat.ID})
	if failed || !strings.Contains(text, `"text":"hello"`) || !strings.Contains(text, session.AgentMessage) {
		t.Errorf("read: %s", text)
	}
	if text, failed := plain(t, agent, "session_send", map[string]any{"sessionId": chat.ID, "text": ""}); !failed {
		t.Errorf("an empty text: %s", text)
	}
	for _, tool := range []string{"session_send", "session_read"} {
		args := map[string]any{"sessionId": chat.ID}
		if tool == "session_send" {
			args["text"] = "me too"
		}
		if text, failed := plain(t, eve, tool, args); !failed || !strings.Contains(text, "no session") {
			t.Errorf("eve's %s: %s", tool, text)
		}
	}
}
