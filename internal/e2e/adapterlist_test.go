package e2e

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestAFloodOnAnAdapter: an adapter that says so gets one list, sends the tokens
// of its buttons back, and nobody else can use them.
func TestAFloodOnAnAdapter(t *testing.T) {
	outside := newAdapter(t)
	var channel struct{ Token, SigningSecret string }
	p, held, seen, endWindow := flood(t, 4, []string{"HOLM_OWNERS=matrix:@olga"}, func(p *process) {
		added := p.holm("channels", "add", "matrix", "--agent", "main", "--url", outside.url, "--lists", "10", "--json")
		if err := json.Unmarshal([]byte(added), &channel); err != nil {
			t.Fatal(err)
		}
		var err error
		if outside.secret, err = hex.DecodeString(channel.SigningSecret); err != nil {
			t.Fatal(err)
		}
	})
	button := func(m adapterMessage, label string) string {
		for _, row := range m.Card.Buttons {
			for _, b := range row {
				if strings.HasPrefix(b.Label, label) {
					return b.Token
				}
			}
		}
		return ""
	}
	press := func(person, token, reason string) (int, string) {
		return p.post("/api/agents/main/lists/answer", channel.Token, person, `{"button":"`+token+`","reason":"`+reason+`"}`)
	}
	card := outside.next(func(m adapterMessage) bool { return button(m, "Approve this call") != "" })
	_, number, _ := strings.Cut(card.Card.Head, "#")
	status, body := p.post("/api/agents/main/approvals/by-short/"+strings.Fields(number)[0]+"/review", channel.Token, "@olga",
		`{"decision":"approved","resolution":"single","button":"`+button(card, "Approve this call")+`"}`)
	if status != http.StatusOK {
		t.Fatalf("its own card: %d %s", status, body)
	}
	endWindow()
	list := outside.next(func(m adapterMessage) bool { return m.Type == "send" && button(m, "Review all") != "" })
	for name, c := range map[string][2]string{
		"somebody else":        {"@eve", button(list, "Review all")},
		"a forged one":         {"@olga", strings.Repeat("A", len(button(list, "Review all")))},
		"the button of a card": {"@olga", button(card, "Approve this call")},
	} {
		if status, body := press(c[0], c[1], ""); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, body := press("@olga", button(list, "Review all"), ""); status != http.StatusOK {
		t.Fatalf("review: %d %s", status, body)
	}
	review := outside.next(func(m adapterMessage) bool { return m.Type == "update" && button(m, "Approve these 3 once") != "" })
	if status, body := press("@olga", button(review, "Approve these 3 once"), ""); status != http.StatusOK || !strings.Contains(body, "Approved once: #") {
		t.Fatalf("approve: %d %s", status, body)
	}
	p.allRecorded(held)
	outside.next(func(m adapterMessage) bool {
		return m.Type == "update" && len(m.Card.Buttons) == 0 && strings.Contains(m.Card.Head, "None of these 3 requests waits any more")
	})
	if ran := seen(); len(ran) != 4 {
		t.Errorf("ran %v, want each once", ran)
	}
}
