package slackfake_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holm/internal/testkit/slackfake"
)

func TestTokens(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Apps: []slackfake.App{{}, {Team: "T0TWO", BotScopes: []string{"im:write"}}}})
	app, other := s.App(0), s.App(1)
	for name, tt := range map[string]struct{ token, method, want string }{
		"none":               {"", "auth.test", "not_authed"},
		"unknown":            {"xoxb-0", "auth.test", "invalid_auth"},
		"bot token on open":  {app.BotToken, "apps.connections.open", "not_allowed_token_type"},
		"app token on chat":  {app.AppToken, "chat.postMessage", "not_allowed_token_type"},
		"missing scope":      {other.BotToken, "chat.postMessage", "missing_scope"},
		"auth.test needs no": {other.BotToken, "auth.test", ""},
	} {
		if got := callAs(t, s, tt.token, tt.method); got.code() != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := callAs(t, s, other.BotToken, "chat.postMessage"); got["needed"] != "chat:write" || got["provided"] != "im:write" {
		t.Errorf("missing scope: %v", got)
	}
	s.RevokeBotToken(0)
	s.RevokeAppToken(0)
	if got := call(t, s, "auth.test"); got.code() != "token_revoked" {
		t.Errorf("revoked: %v", got)
	}
	if got := callAs(t, s, app.AppToken, "apps.connections.open"); got.code() != "token_revoked" {
		t.Errorf("revoked: %v", got)
	}
}

func TestTokenInTheHeader(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	req, err := http.NewRequest(http.MethodPost, s.APIURL()+"conversations.open",
		strings.NewReader(jsonOf(map[string]any{"users": s.Person("ann").ID(), "return_im": true})))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.App(0).BotToken)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(body), `"ok":true`) || !strings.Contains(string(body), `"is_im":true`) {
		t.Errorf("answer %s", body)
	}
}

func TestComplaints(t *testing.T) {
	for name, do := range map[string]func(*slackfake.Server){
		`unknown method "chat.sing"`:         func(s *slackfake.Server) { call(t, s, "chat.sing") },
		`auth.test has no parameter "tune"`:  func(s *slackfake.Server) { call(t, s, "auth.test", "tune", "la") },
		"carries its token in the address":   func(s *slackfake.Server) { callAs(t, s, "", "auth.test?token=x") },
		"which is no part of Slack":          func(s *slackfake.Server) { post(t, s.APIURL()+"../odd", "text/plain", "") },
		"given more than once":               func(s *slackfake.Server) { call(t, s, "auth.test?a=1&a=2") },
		`a response has no parameter "tune"`: func(s *slackfake.Server) { post(t, s.APIURL()+"../response/x", "application/json", `{"tune":1}`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t)
			do(slackfake.New(r, slackfake.Options{}))
			r.wants(name)
		})
	}
}

func TestDirectChats(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Apps: []slackfake.App{{}, {Team: "T0TWO"}}})
	ann, eve, gone := s.Person("ann"), s.PersonOf(1, "eve"), s.Person("gone")
	gone.Deactivate()
	for users, want := range map[string]string{
		"": "users_list_not_supplied", "U0NONE": "user_not_found", eve.ID(): "user_not_found",
		gone.ID(): "user_disabled", s.App(0).BotUser: "cannot_dm_bot",
	} {
		if got := call(t, s, "conversations.open", "users", users); got.code() != want {
			t.Errorf("open %q: %v", users, got)
		}
	}
	first := call(t, s, "conversations.open", "users", ann.ID())
	second := call(t, s, "conversations.open", "users", ann.ID())
	if fmt.Sprint(first["channel"]) != fmt.Sprint(second["channel"]) || first["already_open"] != false || second["already_open"] != true {
		t.Errorf("opened %v, then %v", first, second)
	}
	if got := callAs(t, s, s.App(1).BotToken, "chat.postMessage", "channel", ann.Chat(), "text", "x"); got.code() != "channel_not_found" {
		t.Errorf("another app's direct chat: %v", got)
	}
}

func TestWhereAMessageMayGo(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	ann, ben := s.Person("ann"), s.Person("ben")
	room, old, left := s.Channel(0, "room", ann), s.Channel(0, "old", ann), s.Channel(0, "left", ann)
	s.Archive(old)
	s.RemoveBot(0, left)
	for channel, want := range map[string]string{
		room: "", ann.ID(): "", old: "is_archived", left: "not_in_channel", "C0NONE": "channel_not_found",
	} {
		if got := call(t, s, "chat.postMessage", "channel", channel, "text", "x"); got.code() != want {
			t.Errorf("post to %s: %v", channel, got)
		}
	}
	if got := call(t, s, "chat.postMessage", "channel", room); got.code() != "no_text" {
		t.Errorf("empty post: %v", got)
	}
	if got := call(t, s, "chat.postEphemeral", "channel", room, "user", ben.ID(), "text", "x"); got.code() != "user_not_in_channel" {
		t.Errorf("ephemeral to a stranger: %v", got)
	}
	if got := call(t, s, "users.info", "user", ben.ID()); got.code() != "" {
		t.Errorf("users.info: %v", got)
	}
	s.DisableMessagesTab(0)
	if got := call(t, s, "chat.postMessage", "channel", ann.Chat(), "text", "x"); got.code() != "messages_tab_disabled" {
		t.Errorf("post without a tab: %v", got)
	}
}

func TestLongTexts(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	ann := s.Person("ann")
	posted := call(t, s, "chat.postMessage", "channel", ann.Chat(), "text", strings.Repeat("é", 40_001))
	if posted["warning"] != "message_truncated" || len([]rune(ann.Messages()[0].Text)) != 40_000 {
		t.Errorf("a long post: %v", posted["warning"])
	}
	ts, _ := posted["ts"].(string)
	for n, want := range map[int]string{4000: "", 4001: "msg_too_long"} {
		if got := call(t, s, "chat.update", "channel", ann.Chat(), "ts", ts, "text", strings.Repeat("é", n)); got.code() != want {
			t.Errorf("update with %d characters: %v", n, got.code())
		}
	}
}

func TestEdits(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Apps: []slackfake.App{{}, {}}})
	ann := s.Person("ann")
	room := s.Channel(0, "room", ann)
	blocks := jsonOf([]any{section("a block")})
	ts, _ := call(t, s, "chat.postMessage", "channel", room, "text", "one", "blocks", blocks)["ts"].(string)
	shown := func() string { return s.Transcript(room)[0].Shown() }

	call(t, s, "chat.update", "channel", room, "ts", ts, "blocks", jsonOf([]any{section("another")}))
	if shown() != "another" || s.Transcript(room)[0].Text != "one" {
		t.Errorf("after an update of the blocks it shows %q", shown())
	}
	call(t, s, "chat.update", "channel", room, "ts", ts, "text", "two")
	if shown() != "two" || len(s.Transcript(room)[0].Earlier) != 2 {
		t.Errorf("a text without blocks left %q", shown())
	}
	if got := call(t, s, "chat.update", "channel", room, "ts", "1.1", "text", "x"); got.code() != "message_not_found" {
		t.Errorf("update of nothing: %v", got)
	}
	if got := call(t, s, "chat.update", "channel", room, "ts", ts); got.code() != "no_text" {
		t.Errorf("update by nothing: %v", got)
	}
	ann.Mention(room, "hello")
	own := s.Transcript(room)[1]
	if got := call(t, s, "chat.update", "channel", room, "ts", own.TS, "text", "x"); got.code() != "cant_update_message" {
		t.Errorf("update of somebody else's words: %v", got)
	}
	s.CloseEdits()
	if got := call(t, s, "chat.update", "channel", room, "ts", ts, "text", "x"); got.code() != "edit_window_closed" {
		t.Errorf("late update: %v", got)
	}
	if got := call(t, s, "chat.delete", "channel", room, "ts", ts); got.code() != "" || len(s.Transcript(room)) != 1 {
		t.Errorf("delete: %v", got)
	}
}

func TestFaults(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	ann := s.Person("ann")
	say := func(text string) (int, http.Header, []byte, error) {
		resp, err := client.PostForm(s.APIURL()+"chat.postMessage", map[string][]string{
			"token": {s.App(0).BotToken}, "channel": {ann.Chat()}, "text": {text},
		})
		if err != nil {
			return 0, nil, nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, body, err
	}
	s.Inject(slackfake.Fault{Method: "chat.postMessage", RetryAfter: 7 * time.Second, After: 1})
	s.Inject(slackfake.Fault{Method: "chat.update", Drop: true, Times: -1})
	s.Inject(slackfake.Fault{Match: func(p map[string]string) bool { return p["text"] == "lost" }, PerformFirst: true})
	s.Inject(slackfake.Fault{Match: func(p map[string]string) bool { return p["text"] == "late" }, Delay: time.Millisecond})
	s.Inject(slackfake.Fault{Status: 503, HTML: "<html>", Times: 2, After: 2})

	if status, _, _, err := say("first"); err != nil || status != 200 {
		t.Errorf("status %d, %v", status, err)
	}
	if status, h, _, _ := say("limited"); status != 429 || h.Get("Retry-After") != "7" {
		t.Errorf("status %d, %v", status, h)
	}
	if _, _, _, err := say("lost"); !errors.Is(err, io.EOF) {
		t.Errorf("an answer after all: %v", err)
	}
	if status, _, body, err := say("late"); status != 200 || !strings.Contains(string(body), `"ok":true`) {
		t.Errorf("%s, %v", body, err)
	}
	_, _, _, _ = say("fourth")
	for range 2 {
		if status, _, body, _ := say("down"); status != 503 || string(body) != "<html>" {
			t.Errorf("status %d, %s", status, body)
		}
	}
	var texts []string
	for _, m := range ann.Messages() {
		texts = append(texts, m.Text)
	}
	if got := strings.Join(texts, " "); got != "first lost late fourth" {
		t.Errorf("posted: %s", got)
	}
}

func TestRateLimits(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := slackfake.New(t, slackfake.Options{RateLimits: true, Clock: func() time.Time { return now }})
	form := map[string][]string{"token": {s.App(0).BotToken}, "channel": {s.Person("ann").Chat()}, "text": {"x"}}
	say := func() (int, string) {
		resp, err := client.PostForm(s.APIURL()+"chat.postMessage", form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	for range 5 {
		if status, _ := say(); status != 200 {
			t.Fatalf("status %d within a burst", status)
		}
	}
	if status, after := say(); status != 429 || after != "1" {
		t.Errorf("status %d, Retry-After %q", status, after)
	}
	now = now.Add(time.Second)
	if status, _ := say(); status != 200 {
		t.Errorf("status %d a second later", status)
	}
}
