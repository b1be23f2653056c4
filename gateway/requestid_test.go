package gateway_test

import (
	"strings"
	"testing"

	"holm/policy"
)

// TestRequestIDsComeBackAsTheyAreOrNotAtAll: an answer under another number would
// be none to its client.
func TestRequestIDsComeBackAsTheyAreOrNotAtAll(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.Allow, policy.Scope{})
	headers := map[string]string{"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": r.client(nil).ID()}
	runs := 0
	for id, taken := range map[string]bool{
		`9007199254740991`: true, `-9007199254740991`: true, `"9007199254740993"`: true, `0`: true,
		`9007199254740992`: false, `9007199254740993`: false, `-9007199254740993`: false, `1.5`: false, `1e400`: false,
	} {
		status, got := r.post(headers, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":{}}}`)
		if !strings.Contains(got, `"id":`+id) || strings.Contains(got, "recorded") != taken || (status == 200) != taken {
			t.Errorf("%s: status %d, %s", id, status, got)
		}
		if taken {
			runs++
		}
	}
	if n := len(r.ran()); n != runs {
		t.Errorf("ran %d times, want %d", n, runs)
	}
}
