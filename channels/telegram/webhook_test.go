package telegram_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holm/bot"
	"holm/channels/telegram"
	"holm/internal/testkit/telegramfake"
)

const hookSecret = "a-Secret_of-tests"

// hooked is a fake Telegram that calls a channel over HTTP.
type hooked struct {
	*setup
	server *httptest.Server
	url    string
}

func newHooked(t *testing.T, o telegramfake.Options) *hooked {
	t.Helper()
	o.AllowHTTP, o.HookPause = true, time.Millisecond
	h := &hooked{setup: newSetup(t, o)}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.channel.ServeWebhook(w, r, h.inbox)
	}))
	t.Cleanup(h.server.Close)
	h.url = h.server.URL + bot.WebhookPath("main", "telegram")
	h.channel = h.connect(telegram.Config{Webhook: h.url, Secret: hookSecret})
	return h
}

func (h *hooked) call(secret, body string) int {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); strings.HasPrefix(strings.TrimSpace(string(answer)), "{") {
		h.t.Errorf("the answer %q could be taken for a call", answer)
	}
	return resp.StatusCode
}

func TestWebhookDelivers(t *testing.T) {
	h := newHooked(t, telegramfake.Options{AllowUnanswered: true})
	h.run(h.channel)
	h.tg.WaitWebhook(h.url)
	m := h.send(card())
	tap := h.owner.Click(m, "Approve")
	h.tg.WaitConfirmed(tap.UpdateID)
	if ev := h.decode(tap.UpdateID); ev.Token != "tok-approve" || ev.Identity != id(h.owner) {
		t.Errorf("decoded %+v", ev)
	}
	if n := len(h.tg.Calls("getUpdates")); n != 0 {
		t.Errorf("%d polls besides the webhook", n)
	}
	call := h.tg.WaitCall("setWebhook", nil)
	if call.Params["allowed_updates"] != `["message","callback_query","my_chat_member"]` || call.Params["secret_token"] != hookSecret {
		t.Errorf("the webhook was set with %v", call.Params)
	}
	if health := h.channel.Health(); !health.Connected || health.LastEvent.IsZero() {
		t.Errorf("health is %+v", health)
	}
}

// Fault 15 of the platform: an update is confirmed when it is stored, and the
// platform sends what was not.
func TestFault15WebhookConfirmsWhatIsStored(t *testing.T) {
	h := newHooked(t, telegramfake.Options{})
	fails := make(chan string, 1000)
	h.inbox.failWith(func(eventID string) error { fails <- eventID; return errors.New("the database is down") })
	h.run(h.channel)
	h.tg.WaitWebhook(h.url)
	said := h.owner.Say("approve 7")
	for range 3 {
		<-fails
	}
	if !h.tg.Confirmed(said.UpdateID).IsZero() {
		t.Error("confirmed though nothing was stored")
	}
	h.inbox.failWith(nil)
	h.tg.WaitConfirmed(said.UpdateID)
	if ev := h.decode(said.UpdateID); ev.Text != "approve 7" {
		t.Errorf("decoded %+v", ev)
	}
	h.tg.Redeliver(said.UpdateID)
	h.inbox.wait(t, func() bool { rows, again := h.inbox.count(said.UpdateID); return rows == 1 && again == 1 })
}

func TestWebhookRefuses(t *testing.T) {
	h := newHooked(t, telegramfake.Options{})
	good := `{"update_id":5,"message":{"message_id":1,"from":{"id":9},"chat":{"id":9,"type":"private"},"text":"help"}}`
	for name, c := range map[string]struct {
		secret, body string
		want         int
	}{
		"no secret":    {"", good, 403},
		"other secret": {hookSecret + "x", good, 403},
		"broken JSON":  {hookSecret, `{"update_id":5`, 400},
		"trailing":     {hookSecret, good + "x", 400},
		"no id":        {hookSecret, `{"message":{}}`, 400},
		"an array":     {hookSecret, `[` + good + `]`, 400},
		"too large":    {hookSecret, `{"update_id":5,"x":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
		"good":         {hookSecret, good, 200},
	} {
		if got := h.call(c.secret, c.body); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if rows, again := h.inbox.count(5); rows != 1 || again != 0 {
		t.Errorf("%d rows, %d repeats", rows, again)
	}
	h.inbox.failWith(func(string) error { return errors.New("down") })
	if got := h.call(hookSecret, good); got != 503 {
		t.Errorf("while the database is down: %d", got)
	}
	h.channel = h.connect(telegram.Config{Webhook: h.url})
	if got := h.call("", good); got != 404 {
		t.Errorf("while polling: %d", got)
	}
}

// Fault 14 of the platform: polling and a webhook exclude each other. A change
// of mode takes our own webhook away, never a foreign one.
func TestFault14ModesReplaceEachOther(t *testing.T) {
	h := newHooked(t, telegramfake.Options{})
	stop := h.run(h.channel)
	h.tg.WaitWebhook(h.url)
	stop()
	before := h.owner.Say("sent between the modes")
	h.channel = h.connect(telegram.Config{Webhook: "https://moved.example" + bot.WebhookPath("main", "telegram")})
	stop = h.run(h.channel)
	h.tg.WaitPoll()
	h.tg.WaitWebhook("")
	h.tg.WaitConfirmed(before.UpdateID)
	// A Holm of the other mode starts while this one still polls, and keeps what
	// it has set.
	h.tg.SetWebhook(h.url)
	h.tg.WaitCall("getUpdates", func(c telegramfake.Call) bool { return strings.Contains(c.Description, "webhook is active") })
	stop()
	if h.tg.Webhook() != h.url {
		t.Error("a poller took the webhook of a newer process away")
	}
}

func TestWebhookOfSeveralProcesses(t *testing.T) {
	h := newHooked(t, telegramfake.Options{})
	h.run(h.channel)
	h.run(h.connect(telegram.Config{Webhook: h.url, Secret: hookSecret}))
	h.tg.WaitCall("setWebhook", func(c telegramfake.Call) bool { return c.Code == 200 })
	said := h.owner.Say("help")
	h.tg.WaitConfirmed(said.UpdateID)
	// The second was asked to wait a second, or came later; both are well.
	n := 0
	h.tg.WaitCall("setWebhook", func(c telegramfake.Call) bool {
		if c.Code == 200 {
			n++
		}
		return n >= 2
	})
}

func TestLostWebhookShows(t *testing.T) {
	h := newHooked(t, telegramfake.Options{})
	h.run(h.channel)
	h.tg.WaitWebhook(h.url)
	h.tg.SetWebhook("https://elsewhere.example/hook")
	h.healthy(false, "another address")
	h.tg.SetWebhook(h.url)
	h.healthy(true, "")
	if h.tg.Webhook() != h.url || len(h.tg.Calls("setWebhook")) != 1 {
		t.Error("the webhook was fought for")
	}
}

// healthy waits for a look at the webhook to show.
func (h *hooked) healthy(connected bool, words string) {
	h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		health := h.channel.Health()
		if health.Connected == connected && strings.Contains(health.Error, words) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("health is %+v", health)
		}
	}
}

func TestWebhookSettings(t *testing.T) {
	for name, c := range map[string]telegram.Config{
		"no address": {Token: "1:abc", Secret: "s"},
		"bad secret": {Token: "1:abc", Secret: "with space", Webhook: "https://holm.example/x"},
	} {
		if _, err := telegram.New(c); !errors.Is(err, bot.ErrSetup) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMenu(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	ch := s.connect(telegram.Config{Menu: []bot.MenuEntry{
		{Name: "help", Help: "what you can do"}, {Name: "No Name", Help: "left out"},
		{Name: "long", Help: strings.Repeat("ü", 300)}, {Name: "mute"},
	}})
	s.run(ch)
	s.tg.WaitPoll()
	menu := s.tg.Commands("all_private_chats")
	if len(menu) != 2 || menu[0].Command != "help" || menu[1].Command != "long" || len(s.tg.Commands("default")) != 0 {
		t.Errorf("the menu is %+v", menu)
	}
}
