package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"holm/bot"
	"holm/internal/testkit/telegramfake"
)

// front is a public address behind which one process answers at a time.
type front struct {
	*httptest.Server
	target atomic.Pointer[url.URL]
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(f.target.Load())
			r.Out.Host = r.In.Host
		},
		ErrorLog:     log.New(io.Discard, "", 0), // deaths are a part of the tests
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.target.Load() == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *front) leadTo(p *process) {
	u, err := url.Parse(p.url)
	if err != nil {
		panic(err) // the test's own address
	}
	f.target.Store(u)
}

// TestTelegramCallsAnyReplica: a tap that Telegram brings by webhook counts on
// whichever process answers, also one that was made while none did.
func TestTelegramCallsAnyReplica(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	public := newFront(t)
	a, b := newReplicas(t, append(env, "HOLM_TELEGRAM_MODE=webhook", "HOLM_PUBLIC_URL="+public.URL)...)
	public.leadTo(a)
	telegram.WaitWebhook(public.URL + bot.WebhookPath("main", "telegram"))
	key, seen := a.setUp("main")

	held := later(t.Context(), a.connect(key, "60s"), map[string]any{"n": 1})
	owner.Click(telegram.WaitMessage(ownerID, open), "Approve this call")
	if got := a.within(held); got.Text != "recorded" {
		t.Errorf("approved through the process that holds the call: %+v", got)
	}

	held = later(t.Context(), b.connect(key, "60s"), map[string]any{"n": 2})
	card := telegram.WaitMessage(ownerID, func(m telegramfake.Message) bool { return open(m) && strings.Contains(m.Text, "#2") })
	a.kill()
	owner.Click(card, "Approve this call") // Telegram calls in vain, and again
	public.leadTo(b)
	if got := b.within(held); got.Text != "recorded" {
		t.Errorf("approved after the other process died: %+v", got)
	}
	if ran := seen(); len(ran) != 2 {
		t.Errorf("ran %v, want each once", ran)
	}
	telegram.Settle()
}

// TestRejectedWithAReason: what the owner answers to the bot's question reaches
// the agent whose call waits.
func TestRejectedWithAReason(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newEmbedded(t, env...)
	telegram.WaitPoll()
	key, seen := p.setUp("main")
	held := later(t.Context(), p.connect(key, "60s"), map[string]any{"n": 1})
	owner.Click(telegram.WaitMessage(ownerID, open), "Reject with reason…")
	owner.Click(telegram.WaitMessage(ownerID, func(m telegramfake.Message) bool {
		_, ok := m.Button("Other…")
		return ok
	}), "Other…")
	asked := telegram.WaitMessage(ownerID, func(m telegramfake.Message) bool { return m.ForceReply })
	owner.Reply(asked, "not on a Friday")
	if got := p.within(held); got.Kind != "APPROVAL_REJECTED" || !strings.Contains(got.Text, "not on a Friday") {
		t.Errorf("the agent got %+v", got)
	}
	telegram.WaitMessage(ownerID, shows("not on a Friday"))
	if ran := seen(); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
	telegram.Settle()
}
