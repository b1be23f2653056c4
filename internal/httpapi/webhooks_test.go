package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holm/internal/session"
	"holm/internal/webhook"
)

func TestWebhooks(t *testing.T) {
	w := start(t)
	w.agent("main")
	w.agent("other")
	status := http.StatusNoContent
	var got []string
	address := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("webhook-id"))
		rw.WriteHeader(status)
	}))
	defer address.Close()
	made := w.admin("POST", "/api/agents/main/webhooks", `{"url":"`+address.URL+`"}`).is(201)
	if !strings.HasPrefix(made.field("secret"), "whsec_") {
		t.Errorf("secret %q", made.field("secret"))
	}
	hook := "/api/agents/main/webhooks/" + made.field("id")
	var hooks []webhook.Webhook
	list := w.admin("GET", "/api/agents/main/webhooks", "").is(200)
	list.into(&hooks)
	if len(hooks) != 1 || len(hooks[0].Events) != len(session.ApprovalTypes()) || strings.Contains(list.body, "whsec_") {
		t.Errorf("list %s", list.body)
	}

	w.admin("POST", hook+"/test", "").is(204)
	if len(got) != 1 || !strings.HasPrefix(got[0], "test-") {
		t.Errorf("the address got %q", got)
	}
	status = http.StatusTeapot
	if body := w.admin("POST", hook+"/test", "").is(503, "webhook_failed").body; !strings.Contains(body, "418") {
		t.Errorf("answer %s", body)
	}

	w.admin("DELETE", strings.Replace(hook, "main", "other", 1), "").is(404, "not_found")
	w.admin("DELETE", hook, "").is(204)
	w.admin("DELETE", hook, "").is(404, "not_found")
	w.admin("POST", hook+"/test", "").is(404, "not_found")
}

func TestWebhooksRefused(t *testing.T) {
	w := start(t)
	w.agent("main")
	for _, body := range []string{
		`{"url":""}`, `{"url":"example.com"}`, `{"url":"ftp://example.com/"}`, `{"url":"https://u:p@example.com/"}`, `{"url":"https://%zz/"}`,
		`{"url":"https://example.com/","events":["approval_request"]}`, `{"url":"https://example.com/","event":["approval_requested"]}`,
	} {
		w.admin("POST", "/api/agents/main/webhooks", body).is(422)
	}
	w.admin("POST", "/api/agents/nobody/webhooks", `{"url":"https://example.com/"}`).is(404, "not_found")
	for range 20 {
		w.admin("POST", "/api/agents/main/webhooks", `{"url":"https://example.com/"}`).is(201)
	}
	w.admin("POST", "/api/agents/main/webhooks", `{"url":"https://example.com/"}`).is(409, "too_many")
}
