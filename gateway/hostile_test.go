package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// asks sends a call of the record tool as raw bytes, which waits for nobody.
func (r *rig) asks(arguments string) (status int, body string) {
	r.t.Helper()
	return r.post(map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "mcp__fix__record", "Holm-Hold": "0s"},
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":`+arguments+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
}

// TestHostileArgumentsGoTheWholeWay: a megabyte with secrets and characters that
// turn text around reaches the upstream to the byte, and people redacted and
// spelled out.
func TestHostileArgumentsGoTheWholeWay(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	arguments := `{"to":"pay \u202egro.live ` + "\u202e\u2066" + `","password":"hunter2-secret","url":"https://me:hunter3-secret@host/","n":1.0,"z":` +
		`{"key":"sk-hunter4-secret-0123456789abcdefghij"},"text":"` + strings.Repeat("ä<&>\\n", 160_000) + `"}`
	if len(arguments) < 1<<20 {
		t.Fatalf("only %d bytes", len(arguments))
	}
	if status, body := r.asks(arguments); status != 200 || !strings.Contains(body, "APPROVAL_REQUIRED") {
		t.Fatalf("asked: %d %.300s", status, body)
	}
	request := r.asked(approvals.Pending)
	args, err := policy.ParseArgs([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(args.Canonical())
	if !bytes.Equal(request.ArgsBytes, []byte(arguments)) || request.ArgsSHA256 != hex.EncodeToString(sum[:]) {
		t.Error("what is stored to run, or its digest, is not what was sent")
	}

	card := bot.Render(request, bot.Surface{Limits: bot.Limits{Value: 600, Total: 3800, ButtonRow: 3}, Files: true,
		Token: func(approvals.Action) string { return "token" }})
	shown := card.Head
	for _, fact := range card.Facts {
		shown += "\n" + fact.Value
	}
	for _, arg := range card.Args {
		shown += "\n" + arg.Name + ": " + arg.Value
	}
	for _, text := range []string{shown, string(request.Shown())} {
		if strings.Contains(text, "hunter") {
			t.Errorf("people are shown a secret: %.500s", text)
		}
	}
	if strings.ContainsAny(shown, "\u202e\u2066") || !strings.Contains(shown, "U+202E") {
		t.Errorf("the card turns text around: %.500q", shown)
	}

	r.decide(request, true, policy.Single, "")
	if status, body := r.asks(arguments); status != 200 || !strings.Contains(body, "recorded") {
		t.Errorf("again: %d %.300s", status, body)
	}
	if ran := r.ran(); len(ran) != 1 || ran[0] != arguments {
		t.Errorf("%d calls ran, and not with what was sent", len(ran))
	}
	for _, table := range []string{"session_events", "audit_queue", "river.river_job", "card_deliveries"} {
		var n int
		if err := r.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` t WHERE strpos(t::text, 'hunter') > 0`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has a secret %d times (%v)", table, n, err)
		}
	}
}

// TestArgumentsThatAreNoText are refused in words, and nobody is asked.
func TestArgumentsThatAreNoText(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	for name, c := range map[string]struct{ arguments, want string }{
		"invalid UTF-8":    {"{\"a\":\"\xff\"}", "is not valid UTF-8"},
		"half a surrogate": {`{"a":"\ud800"}`, "the request cannot be used"},
		"a key twice":      {`{"a":1,"b":{"c":1,"c":2}}`, "the request cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := r.asks(c.arguments); status != 400 || !strings.Contains(body, c.want) {
				t.Errorf("%d %.300s, want %q", status, body, c.want)
			}
		})
	}
	var asked int
	if err := r.pool.QueryRow(t.Context(), `SELECT count(*) FROM approval_requests`).Scan(&asked); err != nil || asked != 0 || r.ran() != nil {
		t.Errorf("%d requests (%v), ran %v", asked, err, r.ran())
	}
}
