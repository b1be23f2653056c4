package e2e

import (
	"fmt"
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

// front is a public address behind which one process answers at a time, or two
// take turns.
type front struct {
	*httptest.Server
	target, other atomic.Pointer[url.URL]
	turn          atomic.Int64
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := f.target.Load()
			if other := f.other.Load(); other != nil && f.turn.Add(1)%2 == 0 {
				to = other
			}
			r.SetURL(to)
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

func (f *front) leadTo(p *process) { f.target.Store(p.address()) }

func (p *process) address() *url.URL {
	u, err := url.Parse(p.url)
	if err != nil {
		panic(err) // the test's own address
	}
	return u
}

// TestTwentyTapsAtOnce: ten owners tap twice each, half of them to reject, and
// Telegram brings the taps to two processes. One answer counts, everybody is told
// of it, and the call ends by it.
func TestTwentyTapsAtOnce(t *testing.T) {
	telegram, _, env := withTelegram(t)
	var owners []*telegramfake.Person
	var identities []string
	for n := range int64(10) {
		owners = append(owners, telegram.PersonWithID(710001+n, fmt.Sprint("Owner ", n)).Open())
		identities = append(identities, fmt.Sprint("telegram:", 710001+n))
	}
	public := newFront(t)
	a, b := newReplicas(t, append(env, "HOLM_OWNERS="+strings.Join(identities, ","),
		"HOLM_TELEGRAM_MODE=webhook", "HOLM_PUBLIC_URL="+public.URL)...)
	public.leadTo(a)
	public.other.Store(b.address())
	telegram.WaitWebhook(public.URL + bot.WebhookPath("main", "telegram"))
	key, seen := a.setUp("main")
	held := later(t.Context(), a.connect(key, "60s"), map[string]any{"n": 1})

	var cards []telegramfake.Message
	for _, owner := range owners {
		cards = append(cards, telegram.WaitMessage(owner.ID, open))
	}
	var taps []telegramfake.Tap
	for n, owner := range owners {
		label := []string{"Approve this call", "Reject"}[n%2]
		taps = append(taps, owner.ClickStale(cards[n], label), owner.ClickStale(cards[n], label))
	}
	for _, tap := range taps {
		if toast := telegram.WaitAnswer(tap); toast.Text == "" {
			t.Error("a tap got no text")
		}
	}
	got, ran := a.within(held), len(seen())
	approved := a.field("status", "approvals", "show", "1") == "approved"
	if approved && (got.Text != "recorded" || ran != 1) || !approved && (got.Kind != "APPROVAL_REJECTED" || ran != 0) {
		t.Errorf("approved is %v; the call got %+v and ran %d times", approved, got, ran)
	}
	name := a.field("resolvedName", "approvals", "show", "1")
	for _, owner := range owners {
		telegram.WaitMessage(owner.ID, func(m telegramfake.Message) bool {
			end := map[bool]string{true: "succeeded", false: "ejected by"}[approved]
			return closed(m) && strings.Contains(m.Text, name) && strings.Contains(m.Text, end)
		})
	}
	telegram.Settle()
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
