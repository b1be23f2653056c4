package slack_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holm/bot"
	"holm/channels/slack"
	"holm/internal/testkit/slackfake"
)

func TestWhatPeopleType(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	room := s.fake.Channel(0, "ops", ann)
	ann.DM("run shop/open url=https://shop.example/a?b=1 note=<b>&").Acked()
	ann.Mention(room, "help").Acked()
	ann.Slash("approve 7").Acked()
	var got []bot.Event
	for _, ev := range s.inbox.wait(t, s.Channel, 3) {
		got = append(got, bot.Event{Kind: ev.Kind, Identity: ev.Identity, Direct: ev.Direct, Text: ev.Text})
	}
	want := []bot.Event{
		{Kind: bot.Text, Identity: ann.Identity(), Direct: true, Text: "run shop/open url=https://shop.example/a?b=1 note=<b>&"},
		{Kind: bot.Text, Identity: ann.Identity(), Text: "help"},
		{Kind: bot.Text, Identity: ann.Identity(), Direct: true, Text: "approve 7"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestTheOneWhoActedCounts(t *testing.T) {
	s := connected(t, slackfake.Options{Apps: []slackfake.App{{Team: "T0ONE"}, {Team: "T0TWO"}}})
	ann, eve := s.fake.Person("ann"), s.fake.PersonOf(1, "eve")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.ClickAs(eve, "Approve once").Acked()
	if tap := s.inbox.wait(t, s.Channel, 1)[0]; tap.Identity != eve.Identity() {
		t.Errorf("the tap of %s counts as %s", eve.Identity(), tap.Identity)
	}
}

func TestDecodePayloads(t *testing.T) {
	const click = `"channel":{"id":"D1"},"container":{"channel_id":"D1","message_ts":"1.1"},"actions":[{"type":"button","action_id":"a","action_ts":"2.2","value":"tok"}]`
	tap := bot.Event{Kind: bot.Tap, Identity: "T1/U1", Token: "tok", Direct: true, Message: bot.MessageRef{Chat: "D1", Message: "1.1"}}
	tests := map[string]struct {
		kind, payload string
		want          *bot.Event
		fails         bool
	}{
		"tap":                    {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},` + click + `}`, &tap, false},
		"team of the payload":    {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},` + click + `}`, &tap, false},
		"team of the person":     {"interactive", `{"type":"block_actions","team":{"id":"T9"},"user":{"id":"U1","team_id":"T1"},` + click + `}`, &tap, false},
		"own organisation":       {"interactive", `{"type":"block_actions","enterprise":{"id":"E7"},"team":{"id":"T1"},"user":{"id":"U1","team_id":"E7"},` + click + `}`, &tap, false},
		"workspace's own":        {"interactive", `{"type":"block_actions","team":{"id":"T1","enterprise_id":"E7"},"user":{"id":"U1","team_id":"E7"},` + click + `}`, &tap, false},
		"another organisation":   {"interactive", `{"type":"block_actions","enterprise":{"id":"E7"},"team":{"id":"T1","enterprise_id":"E7"},"user":{"id":"U1","team_id":"E8"},` + click + `}`, nil, false},
		"no organisation":        {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"E7"},` + click + `}`, nil, false},
		"shared, no team":        {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"channel":{"id":"C1"},"container":{"channel_id":"C1","message_ts":"1.1"},"actions":[{"type":"button","value":"tok"}]}`, nil, false},
		"id of an organisation":  {"interactive", `{"type":"block_actions","team":{"id":"T9"},"user":{"id":"W1","team_id":"T1"},` + click + `}`, &bot.Event{Kind: bot.Tap, Identity: "T1/W1", Token: "tok", Direct: true, Message: bot.MessageRef{Chat: "D1", Message: "1.1"}}, false},
		"page":                   {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},"container":{"type":"view","view_id":"V1"},"actions":[{"type":"button","value":"tok"}]}`, &bot.Event{Kind: bot.Tap, Identity: "T1/U1", Token: "tok", Direct: true}, false},
		"page, no team":          {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"container":{"type":"view","view_id":"V1"},"actions":[{"type":"button","value":"tok"}]}`, nil, false},
		"no team":                {"interactive", `{"type":"block_actions","team":null,"user":{"id":"U1"},` + click + `}`, nil, false},
		"organisation only":      {"interactive", `{"type":"block_actions","team":null,"user":{"id":"U1","team_id":"E7"},` + click + `}`, nil, false},
		"odd user id":            {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1/U2"},` + click + `}`, nil, false},
		"no user":                {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{},` + click + `}`, nil, true},
		"no action":              {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"channel":{"id":"D1"},"actions":[]}`, nil, true},
		"a view":                 {"interactive", `{"type":"view_submission","user":{"id":"U1"}}`, nil, false},
		"a select":               {"interactive", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"channel":{"id":"D1"},"actions":[{"type":"static_select"}]}`, nil, false},
		"words of a bot":         {"events_api", `{"team_id":"T1","event":{"type":"message","channel_type":"im","channel":"D1","ts":"1.1","user":"U1","bot_id":"B1","text":"x"}}`, nil, false},
		"an edit":                {"events_api", `{"team_id":"T1","event":{"type":"message","subtype":"message_changed","channel_type":"im","channel":"D1","ts":"1.1","user":"U1"}}`, nil, false},
		"with a file":            {"events_api", `{"team_id":"T1","event":{"type":"message","subtype":"file_share","channel_type":"im","channel":"D1","ts":"1.2","user":"U1","text":"x","files":[{"id":"F1"}]}}`, &bot.Event{Kind: bot.Text, Identity: "T1/U1", Direct: true, Text: "x", Unread: true, Message: bot.MessageRef{Chat: "D1", Message: "1.2"}}, false},
		"shown in the channel":   {"events_api", `{"team_id":"T1","event":{"type":"message","subtype":"thread_broadcast","channel_type":"im","channel":"D1","ts":"1.2","user":"U1","text":"x","thread_ts":"1.1"}}`, &bot.Event{Kind: bot.Text, Identity: "T1/U1", Direct: true, Text: "x", Message: bot.MessageRef{Chat: "D1", Message: "1.2", Thread: "1.1"}}, false},
		"/me":                    {"events_api", `{"team_id":"T1","event":{"type":"message","subtype":"me_message","channel_type":"im","channel":"D1","ts":"1.2","user":"U1","text":"x"}}`, &bot.Event{Kind: bot.Text, Identity: "T1/U1", Direct: true, Text: "x", Message: bot.MessageRef{Chat: "D1", Message: "1.2"}}, false},
		"a deletion":             {"events_api", `{"team_id":"T1","event":{"type":"message","subtype":"message_deleted","channel_type":"im","channel":"D1","ts":"1.1","user":"U1","text":"x"}}`, nil, false},
		"own words":              {"events_api", `{"team_id":"T1","authorizations":[{"user_id":"U1","is_bot":true}],"event":{"type":"message","channel_type":"im","channel":"D1","ts":"1.1","user":"U1","text":"x"}}`, nil, false},
		"talk in a channel":      {"events_api", `{"team_id":"T1","event":{"type":"message","channel_type":"channel","channel":"C1","ts":"1.1","user":"U1","text":"x"}}`, nil, false},
		"shared, team unknown":   {"events_api", `{"team_id":"T1","is_ext_shared_channel":true,"event":{"type":"app_mention","channel":"C1","ts":"1.1","user":"U1","text":"x"}}`, nil, false},
		"shared, team told":      {"events_api", `{"team_id":"T1","is_ext_shared_channel":true,"event":{"type":"app_mention","channel":"C1","ts":"1.1","user":"U1","user_team":"T2","text":"<@U0> x"}}`, &bot.Event{Kind: bot.Text, Identity: "T2/U1", Text: "x", Message: bot.MessageRef{Chat: "C1", Message: "1.1", Thread: "1.1"}}, false},
		"shared, source told":    {"events_api", `{"team_id":"T1","is_ext_shared_channel":true,"event":{"type":"app_mention","channel":"C1","ts":"1.1","user":"U1","source_team":"T2","text":"<@U0> x"}}`, &bot.Event{Kind: bot.Text, Identity: "T2/U1", Text: "x", Message: bot.MessageRef{Chat: "C1", Message: "1.1", Thread: "1.1"}}, false},
		"author of elsewhere":    {"events_api", `{"team_id":"T1","event":{"type":"app_mention","channel":"C1","ts":"1.2","thread_ts":"1.1","user":"U1","team":"T2","text":"<@U0> x"}}`, &bot.Event{Kind: bot.Text, Identity: "T2/U1", Text: "x", Message: bot.MessageRef{Chat: "C1", Message: "1.2", Thread: "1.1"}}, false},
		"author of organisation": {"events_api", `{"team_id":"T1","event":{"type":"app_mention","channel":"C1","ts":"1.2","user":"U1","user_team":"E7","team":"T1","text":"x"}}`, nil, false},
		"page opened":            {"events_api", `{"team_id":"T1","event":{"type":"app_home_opened","user":"U1","channel":"D1","tab":"home"}}`, &bot.Event{Kind: bot.Opened, Identity: "T1/U1", Direct: true}, false},
		"messages opened":        {"events_api", `{"team_id":"T1","event":{"type":"app_home_opened","user":"U1","channel":"D1","tab":"messages"}}`, nil, false},
		"direct, in a thread":    {"events_api", `{"team_id":"T1","event":{"type":"message","channel_type":"im","channel":"D1","ts":"1.2","thread_ts":"1.1","user":"U1","text":"x"}}`, &bot.Event{Kind: bot.Text, Identity: "T1/U1", Direct: true, Text: "x", Message: bot.MessageRef{Chat: "D1", Message: "1.2", Thread: "1.1"}}, false},
		"joined":                 {"events_api", `{"team_id":"T1","event":{"type":"team_join","user":{"id":"U1"}}}`, nil, true},
		"links and mentions":     {"events_api", `{"team_id":"T1","event":{"type":"message","channel_type":"im","channel":"D1","ts":"1.1","user":"U1","text":"a <http://b.c|b.c> <https://d.e> <mailto:f@g.h|f@g.h> <https://i.j|k> <@U2|bo> &lt;x&gt; &amp;lt;"}}`, &bot.Event{Kind: bot.Text, Identity: "T1/U1", Direct: true, Text: "a b.c https://d.e f@g.h https://i.j <@U2> <x> &lt;", Message: bot.MessageRef{Chat: "D1", Message: "1.1"}}, false},
		"command without a user": {"slash_commands", `{"team_id":"T1","channel_id":"D1"}`, nil, true},
		"null":                   {"interactive", `null`, nil, true},
		"a list":                 {"events_api", `[]`, nil, true},
		"unknown kind":           {"not_invented_yet", `{}`, nil, false},
		"no kind":                {"", `{}`, nil, true},
	}
	c := offline(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			payload, err := json.Marshal(map[string]any{"type": tt.kind, "payload": json.RawMessage(tt.payload)})
			if err != nil {
				t.Fatal(err)
			}
			ev, ok, err := c.Decode(payload)
			if (err != nil) != tt.fails || ok != (tt.want != nil) {
				t.Fatalf("ok = %v, err = %v", ok, err)
			}
			if tt.want == nil {
				return
			}
			if diff := cmp.Diff(*tt.want, ev, cmpopts.IgnoreFields(bot.Event{}, "Reply")); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func offline(t testing.TB) *slack.Channel {
	t.Helper()
	c, err := slack.New(slack.Config{BotToken: "xoxb-1-secret", AppToken: "xapp-1-secret", APIURL: "http://127.0.0.1:1/api"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"type":"interactive","payload":{"type":"block_actions","actions":[{}]}}`,
		`{"type":"events_api","payload":{"event":{"type":"app_mention","text":"<@U1|x> <a|b> &lt;"}}}`,
		`{"type":"slash_commands","payload":{"user_id":"U1","team_id":"T1","channel_id":"D1","text":"help"}}`,
	} {
		f.Add([]byte(seed))
	}
	c := offline(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		ev, ok, err := c.Decode(payload)
		if ok && (err != nil || ev.Identity == "" || len(ev.Reply) == 0) {
			t.Errorf("event %+v, err %v", ev, err)
		}
	})
}

func TestSecretsStayInside(t *testing.T) {
	s := idle(t, slackfake.Options{})
	app := s.fake.App(0)
	ticket := `{"ok":true,"url":"ws://127.0.0.1:1/link/?ticket=sesame"}`
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Status: 200, HTML: ticket})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Status: 200, HTML: strings.Replace(ticket, "ws:", "%zz:", 1)})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Code: "bad token " + app.AppToken})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Code: "xoxp-1-sesame at wss://x.example/?ticket=sesame"})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Code: "token_revoked"})
	err := s.Run(t.Context(), s.inbox)
	if !errors.Is(err, bot.ErrSetup) {
		t.Fatalf("Run ended with %v", err)
	}
	texts := []string{err.Error(), s.logs.String(), s.Health().Error}
	s.fake.Inject(slackfake.Fault{Method: "conversations.open", Code: "what is " + app.BotToken})
	_, err = s.Send(t.Context(), bot.Recipient{Identity: s.fake.Person("ann").Identity()}, card())
	texts = append(texts, err.Error())
	s.fake.Close()
	_, err = s.Send(t.Context(), bot.Recipient{Identity: app.Team + "/U0LATE"}, card())
	texts = append(texts, err.Error())
	for _, text := range texts {
		for _, secret := range []string{app.BotToken, app.AppToken, "sesame", "broken lamp"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %q", secret, text)
			}
		}
	}
	if !strings.Contains(s.logs.String(), "slack connection ended") {
		t.Errorf("the failures were not logged: %s", s.logs)
	}
}

func TestStoredPayloadsHoldNoSecrets(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.Click("Reject").Acked()
	ann.Slash("help").Acked()
	s.inbox.wait(t, s.Channel, 2)
	for id, payload := range s.inbox.payloads() {
		if strings.Contains(string(payload), "verification-token") || strings.Contains(string(payload), "/response/") {
			t.Errorf("the stored payload %s holds a secret: %s", id, payload)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := slack.Config{BotToken: "xoxb-1", AppToken: "xapp-1"}
	if _, err := slack.New(good); err != nil {
		t.Errorf("a good configuration is refused: %v", err)
	}
	bad := map[string]slack.Config{
		"no bot token": {AppToken: "xapp-1"},
		"no app token": {BotToken: "xoxb-1"},
		"no secret":    {BotToken: "xoxb-1", AppToken: "xapp-1", Events: true},
		"swapped":      {BotToken: "xapp-1-secret", AppToken: "xoxb-1-secret"},
		"two bots":     {BotToken: "xoxb-1", AppToken: "xoxb-1-secret"},
		"odd address":  {BotToken: "xoxb-1", AppToken: "xapp-1", APIURL: "slack.com/api"},
	}
	for name, cfg := range bad {
		cfg.Logger = slog.Default()
		_, err := slack.New(cfg)
		if !errors.Is(err, bot.ErrSetup) || strings.Contains(err.Error(), "-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinkHint(t *testing.T) {
	link, hint := offline(t).LinkFor(t.Context(), "k7")
	if link != "" || hint != "send the bot a direct message: link k7" {
		t.Errorf("link %q, hint %q", link, hint)
	}
}
