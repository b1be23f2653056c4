package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holm/internal/audit"
	"holm/internal/httpapi"
)

// chain moves what is recorded into the log.
func (w *world) chain() {
	w.t.Helper()
	for {
		n, err := (&audit.Chainer{Pool: w.pool}).Chain(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func TestTheAuditLogIsReadInPages(t *testing.T) {
	w := start(t)
	w.agent("main")
	for range 3 {
		w.as(adminToken, "POST", "/api/agents/main/keys", `{}`).is(201)
	}
	w.chain()
	var seen []int64
	for address := "/api/audit?kind=key_created&agent=main&limit=3"; address != ""; {
		got := w.as(adminToken, "GET", address, "").is(200)
		var page []audit.Wire
		if err := json.Unmarshal([]byte(got.body), &page); err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			if r.Kind != "key_created" || r.Actor != "admin" || r.AgentID != "main" {
				t.Errorf("got %+v", r)
			}
			seen = append(seen, r.Seq)
		}
		address, _, _ = strings.Cut(strings.TrimPrefix(got.header.Get("Link"), "<"), ">")
	}
	if fmt.Sprint(seen) != "[2 3 4 5]" {
		t.Errorf("records %v", seen)
	}
	w.as(adminToken, "GET", "/api/audit/verify?expect=9", "").is(422)
	if body := w.as(adminToken, "GET", "/api/audit/verify", "").is(200).body; !strings.Contains(body, `"intact":true,"records":5,"head":"5:`) {
		t.Errorf("got %s", body)
	}
}

// A guesser leaves one record, however often they try, and with their own
// credential's trace.
func TestFailedAuthenticationIsOnRecord(t *testing.T) {
	w := start(t)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for range 30 {
		w.as("holm_sk_aaaaaaaa_bbbb", "GET", "/api/agents", "", "Traceparent", parent).is(401)
	}
	w.as("holm_ch_nothing", "GET", "/api/agents", "").is(401)
	w.chain()
	entries, err := audit.List(t.Context(), w.pool, audit.Filter{Limit: 10})
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d records, error %v", len(entries), err)
	}
	e := entries[0]
	want := `{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","address":"127.0.0.1","credential":"key","failures":1,"keyPrefix":"aaaaaaaa"}`
	if e.Kind != "authentication_failed" || e.Actor != audit.Anonymous || e.Data != want {
		t.Errorf("got %+v", e)
	}
}

func TestTheLogGoesOnWhereItStopped(t *testing.T) {
	w := start(t)
	w.agent("main")
	read := func(query string) (part httpapi.CallLog) {
		t.Helper()
		w.chain()
		body := w.as(adminToken, "GET", "/api/log?agent=main"+query, "").is(200).body
		if err := json.Unmarshal([]byte(body), &part); err != nil {
			t.Fatal(err)
		}
		return part
	}
	before := read("")
	if len(before.Calls) != 0 || before.Next != 2 {
		t.Fatalf("got %+v", before)
	}
	w.ask("main", "agent:main", `{"a":1}`)
	after := read(fmt.Sprintf("&after=%d", before.Next))
	if len(after.Calls) != 1 || after.Calls[0].Status != audit.Asked || after.Calls[0].Actor != "agent:main" {
		t.Errorf("got %+v", after)
	}
	if last := read(fmt.Sprintf("&after=%d", after.Next)); len(last.Calls) != 0 || last.Next != after.Next {
		t.Errorf("got %+v", last)
	}
}
