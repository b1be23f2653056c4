package approvals_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/policy"
)

// The bytes that arrived are the bytes that run.
func TestArgumentsAreKeptAsTheyArrived(t *testing.T) {
	w := newWorld(t)
	for name, args := range map[string]string{
		"nothing":         ``,
		"empty":           `{}`,
		"spaces":          " {\n\t\"a\" : 1 } ",
		"nul":             `{"a":"\u0000","\u0000":1}`,
		"huge exponent":   `{"n":1e999999}`,
		"beyond a double": `{"n":9007199254740993}`,
		"odd escapes":     `{"a":"\ud83d\ude00 \u005cu0000 \\u0000 \\ud800 \/"}`,
		"noncharacters":   "{\"a\":\"\uffff\ufdd0\u202e\u2028\"}",
		"html":            `{"a":"<b>&amp;</b>"}`,
		"a megabyte":      `{"text":"` + strings.Repeat("ä\\n", 1<<18) + `"}`,
		"deep":            strings.Repeat(`{"a":`, 63) + `1` + strings.Repeat(`}`, 63),
	} {
		t.Run(name, func(t *testing.T) {
			asked := w.ask(w.call(args, by(name)))
			want := args
			if want == "" {
				want = "{}"
			}
			claimed, ok, err := w.svc.Claim(ctx, w.approve(asked, policy.Single), callOf(asked))
			if err != nil || !ok {
				t.Fatalf("claimed %v, error %v", ok, err)
			}
			if !bytes.Equal(claimed.ArgsBytes, []byte(want)) {
				t.Errorf("runs %.200q, want %.200q", claimed.ArgsBytes, want)
			}
			var shown any
			if err := json.Unmarshal(asked.Shown(), &shown); err != nil && !strings.Contains(name, "exponent") {
				t.Errorf("what people are shown is no JSON: %v", err)
			}
		})
	}
}

func TestSecretsAreHiddenFromPeopleAndCountForTheDigest(t *testing.T) {
	w := newWorld(t)
	const one, two = `{"password":"first","n":9007199254740993}`, `{"password":"second","n":9007199254740993}`
	a, b := w.ask(w.call(one)), w.ask(w.call(two))
	if a.ID == b.ID || a.ArgsDigest == b.ArgsDigest || a.ArgsSHA256 == b.ArgsSHA256 {
		t.Error("two passwords are one call")
	}
	if diff := cmp.Diff(`{"password":"[hidden]","n":9007199254740993}`, string(a.Shown())); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if string(a.ArgsBytes) != one {
		t.Errorf("runs %s", a.ArgsBytes)
	}
	w.approve(a, policy.Persistent)
	for _, table := range []string{"session_events", "audit_queue", "river.river_job", "agent_policies", "card_deliveries"} {
		if n := w.count(`SELECT count(*) FROM ` + table + ` t WHERE strpos(t::text, 'first') > 0`); n != 0 {
			t.Errorf("%s has the password %d times", table, n)
		}
	}
	wires, err := approvals.OnWire(ctx, w.pool, w.get(a.ID))
	w.ok(err)
	wire, err := json.Marshal(wires)
	w.ok(err)
	if strings.Contains(string(wire), "first") {
		t.Errorf("the wire has the password: %s", wire)
	}
}
