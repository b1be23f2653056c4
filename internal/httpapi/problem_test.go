package httpapi_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"holm/internal/fault"
	"holm/internal/httpapi"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	w := start(t)
	w.admin("GET", "/api/nothing", "").is(404, "not_found")
	w.admin("GET", "/api/", "").is(404, "not_found")
	got := w.admin("PUT", "/api/agents", `{}`).is(405, "method_not_allowed")
	if allow := got.header.Get("Allow"); !strings.Contains(allow, "POST") {
		t.Errorf("Allow: %q", allow)
	}
	w.admin("GET", "/api/agents/%00/approvals", "").is(422, "invalid")
}

func TestNoDatabase(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	w.pool.Close()
	for _, token := range []string{adminToken, key, "holm_ch_any"} {
		got := w.as(token, "GET", "/api/agents/main/policies", "", "X-Channel-User-Id", "@u")
		if token == key && got.status == 403 {
			continue // the keyring knows it still
		}
		got.is(503, "unavailable")
		if got.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

func TestAnInternalFailureTellsNothing(t *testing.T) {
	w := start(t)
	w.agent("main")
	if _, err := w.pool.Exec(t.Context(), `ALTER TABLE servers RENAME TO gone`); err != nil {
		t.Fatal(err)
	}
	got := w.admin("GET", "/api/servers", "").is(500, "internal")
	if strings.Contains(got.body, "servers") || strings.Contains(got.body, "SQLSTATE") {
		t.Errorf("it tells: %s", got.body)
	}
	if logged := w.log.String(); strings.Count(logged, "level=ERROR") != 1 || !strings.Contains(logged, "list-servers") {
		t.Errorf("log: %s", logged)
	}
}

func TestReadiness(t *testing.T) {
	var failure error
	w := start(t, func(c *httpapi.Config) { c.Ready = func(context.Context) error { return failure } })
	w.as("", "GET", "/readyz", "").is(200)
	failure = io.ErrUnexpectedEOF
	got := w.as("", "GET", "/readyz", "")
	if got.status != 503 || strings.Contains(got.body, "EOF") || got.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	failure = errors.Join(fault.New(fault.Unavailable, "migrations", "migrations are pending"))
	if got := w.as("", "GET", "/readyz", ""); got.status != 503 || !strings.Contains(got.body, "migrations are pending") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	w.as("", "GET", "/healthz", "").is(200)
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := httpapi.New(httpapi.Config{}); err == nil {
		t.Error("an empty Config passes")
	}
	start(t, func(c *httpapi.Config) {
		without := *c
		without.AdminToken = ""
		if _, err := httpapi.New(without); err == nil {
			t.Error("an empty admin token passes")
		}
	})
}
