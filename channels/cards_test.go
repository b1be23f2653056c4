package channels_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/bot"
	"holm/channels/slack"
	"holm/channels/telegram"
	"holm/internal/testkit/slackfake"
	"holm/internal/testkit/telegramfake"
	"holm/policy"
)

var update = flag.Bool("update", false, "write the golden cards anew")

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// open is a request with these arguments that waits for its answer.
func open(n int, args string) approvals.Request {
	return approvals.Request{
		ID: fmt.Sprint("id-", n), AgentID: "main", ShortID: n, RequesterName: "Alice", ResourceType: "tool",
		ResourceKey: "github__create_issue", ArgsBytes: []byte(args), ArgsDigest: fmt.Sprintf("9c41ab%02d00ff", n),
		RuleText: "issues are public", Status: approvals.Pending,
		Settings: approvals.Settings{
			Resolutions: []policy.Resolution{policy.Single, policy.Once, policy.Persistent}, Binding: policy.BindArguments,
		},
		TTLMinutes: 60, Version: 1, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
}

// calls are those whose cards are kept, by the name of their files.
func calls() map[string]string {
	var fifty []string
	for n := range 50 {
		fifty = append(fifty, fmt.Sprintf(`"field_%02d":"value %d"`, n, n))
	}
	return map[string]string{
		"short":     `{"owner":"holm","title":"hello","draft":false,"labels":["a","b"]}`,
		"long":      `{"first":"short","body":"` + strings.Repeat("All work & no <play>. ", 400) + `","last":"still here"}`,
		"secrets":   `{"user":"ann","password":"hunter2","nested":{"api_key":"k","url":"https://ann:pw@host/x"},"note":"sk-aaaaaaaaaaaaaaaaaaaaaaaa"}`,
		"bidi":      "{\"to\":\"gro.live\u202eevil.org\",\"zero\u200bwidth\":\"a\u200bb\",\"nested\":[\"\u2066x\"],\"lines\":\"one\\ntwo\"}",
		"non-latin": `{"заголовок":"Привет, мир","本文":"` + strings.Repeat("漢字かな交じり文。", 60) + `","العنوان":"مرحبا","emoji":"👩‍👩‍👧 🇩🇪 👍🏽"}`,
		"fifty":     "{" + strings.Join(fifty, ",") + "}",
	}
}

// platform is one whose final form is looked at: text is what a person sees,
// wire what was sent, size how large that is beside what the platform takes.
type platform struct {
	bot.Channel
	show func(t *testing.T, c bot.Card) (text string, wire json.RawMessage, size string)
}

// render makes the card of r as the bot would for the platform.
func (p platform) render(r approvals.Request) bot.Card {
	s := bot.Surface{Limits: p.Limits(), User: "olga", Token: func(a approvals.Action) string { return fmt.Sprintf("token-%d", a) }}
	_, s.Files = p.Channel.(bot.FileSender)
	_, s.Asks = p.Channel.(bot.Asker)
	_, s.Clock.Native = p.Channel.(bot.Dater)
	if reviewer, ok := p.Channel.(bot.Reviewer); ok {
		s.Holds = reviewer.Holds
	}
	return bot.Render(r, s)
}

// list is a list of several requests, or the review of them.
func list(reviewing bool) approvals.Digest {
	g := approvals.Digest{ID: "digest", Reviewing: reviewing}
	for n := range 12 {
		r := open(n+1, fmt.Sprintf(`{"owner":"holm","title":"issue %d","token":"secret-%d"}`, n+1, n))
		switch n {
		case 3:
			r.Settings.Risk = policy.RiskHigh
		case 5:
			r.Status, r.Resolution, r.ResolvedName, r.ResolvedVia, r.ResolvedAt = approvals.Approved, new(policy.Single), new("Bob"), new("api"), new(noon)
		case 7, 8:
			r.ResourceKey, r.ArgsBytes = "mail__send", []byte(fmt.Sprintf(`{"to":"gro.live\u202eevil.org","text":"漢字 %d"}`, n))
		}
		g.Listed = append(g.Listed, approvals.Listed{Request: r, Place: n})
	}
	return g
}

func listSurface(ch bot.Channel) bot.DigestSurface {
	return bot.DigestSurface{Limits: ch.Limits(), Token: func(a approvals.Action, these ...approvals.Listed) string {
		token := fmt.Sprintf("token-%d", a)
		for _, l := range these {
			token += fmt.Sprintf("-%d", l.ShortID)
		}
		return token
	}}
}

// TestGoldenCards keeps what people see of a call and what goes over the wire,
// on both platforms, with its size in the platform's own units. Run with -update
// after a change, and read the difference.
func TestGoldenCards(t *testing.T) {
	for name, p := range map[string]platform{"telegram": onTelegram(t), "slack": onSlack(t)} {
		t.Run(name, func(t *testing.T) {
			cards := map[string]bot.Card{}
			for name, g := range map[string]approvals.Digest{"list": list(false), "review": list(true)} {
				cards[name] = bot.RenderDigest(g, listSurface(p))
			}
			for call, args := range calls() {
				cards[call] = p.render(open(12, args))
			}
			for call, card := range cards {
				t.Run(call, func(t *testing.T) {
					text, wire, size := p.show(t, card)
					golden(t, filepath.Join(name, call+".txt"), size+"\n\n"+text+"\n\n"+keys(card)+"\n")
					var out bytes.Buffer
					if err := json.Indent(&out, wire, "", "  "); err != nil {
						t.Fatal(err)
					}
					golden(t, filepath.Join(name, call+".json"), out.String()+"\n")
				})
			}
		})
	}
}

// TestGoldenDetails keeps what Details brings on Telegram, where a quote holds it.
func TestGoldenDetails(t *testing.T) {
	fake, person, ch := aTelegram(t)
	for _, call := range []string{"short", "bidi", "secrets"} {
		text := bot.Details(open(12, calls()[call]))
		if !ch.QuoteHolds("Arguments of request #12", text) {
			t.Fatalf("%s: no room", call)
		}
		if _, err := ch.SendQuote(t.Context(), bot.Recipient{Identity: fmt.Sprint(person.ID)}, "Arguments of request #12", text); err != nil {
			t.Fatal(err)
		}
		sent := fake.Calls("sendMessage")
		params := sent[len(sent)-1].Params
		golden(t, filepath.Join("telegram", "details-"+call+".txt"), params["text"]+"\n\n"+params["entities"]+"\n")
	}
}

// keys are the buttons by row.
func keys(c bot.Card) string {
	var lines []string
	for _, row := range c.Buttons {
		var labels []string
		for _, b := range row {
			labels = append(labels, "["+b.Label+"]")
		}
		lines = append(lines, strings.Join(labels, " "))
	}
	return strings.Join(lines, "\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "cards", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// within fails when a size is beyond its limit, and says it.
func within(t *testing.T, size, limit int, unit string) string {
	t.Helper()
	if size > limit {
		t.Errorf("%d %s, more than the %d that the platform takes", size, unit, limit)
	}
	return fmt.Sprintf("%d of %d %s", size, limit, unit)
}

func aTelegram(t *testing.T) (*telegramfake.Server, *telegramfake.Person, *telegram.Channel) {
	t.Helper()
	fake := telegramfake.New(t, telegramfake.Options{})
	ch, err := telegram.New(telegram.Config{Token: fake.Token(), APIURL: fake.URL()})
	if err != nil {
		t.Fatal(err)
	}
	return fake, fake.Person("Olga").Open(), ch
}

func onTelegram(t *testing.T) platform {
	t.Helper()
	fake, person, ch := aTelegram(t)
	return platform{ch, func(t *testing.T, c bot.Card) (string, json.RawMessage, string) {
		t.Helper()
		before := len(fake.Calls("sendMessage"))
		ref, err := ch.Send(t.Context(), bot.Recipient{Identity: fmt.Sprint(person.ID)}, c)
		if err != nil {
			t.Fatal(err)
		}
		sent := fake.Calls("sendMessage")[before:]
		if len(sent) != 1 {
			t.Fatalf("the first form was refused: %+v", sent)
		}
		params := sent[0].Params
		wire, err := json.Marshal(map[string]any{
			"text": params["text"], "parse_mode": params["parse_mode"], "reply_markup": json.RawMessage(params["reply_markup"]),
		})
		if err != nil {
			t.Fatal(err)
		}
		shown := fake.WaitMessage(person.ID, func(m telegramfake.Message) bool { return fmt.Sprint(m.ID) == ref.Message })
		return shown.Text, wire, strings.Join([]string{
			within(t, utf8.RuneCountInString(shown.Text), 4096, "characters"),
			within(t, len(utf16.Encode([]rune(shown.Text))), 4096, "UTF-16 units, the strictest reading of these"),
			within(t, len(shown.Entities), 100, "entities"),
		}, "\n")
	}}
}

func onSlack(t *testing.T) platform {
	t.Helper()
	fake := slackfake.New(t, slackfake.Options{})
	person, app := fake.Person("olga"), fake.App(0)
	ch, err := slack.New(slack.Config{BotToken: app.BotToken, AppToken: app.AppToken, APIURL: fake.APIURL()})
	if err != nil {
		t.Fatal(err)
	}
	return platform{ch, func(t *testing.T, c bot.Card) (string, json.RawMessage, string) {
		t.Helper()
		before := len(fake.Calls("chat.postMessage"))
		ref, err := ch.Send(t.Context(), bot.Recipient{Identity: person.Identity()}, c)
		if err != nil {
			t.Fatal(err)
		}
		sent := fake.Calls("chat.postMessage")[before:]
		if len(sent) != 1 {
			t.Fatalf("the first form was refused: %+v", sent)
		}
		params := sent[0].Params
		wire, err := json.Marshal(map[string]any{"text": params["text"], "blocks": json.RawMessage(params["blocks"])})
		if err != nil {
			t.Fatal(err)
		}
		shown := person.WaitMessage("the card", func(m slackfake.Message) bool { return m.TS == ref.Message })
		var texts []string
		for _, block := range shown.Blocks {
			texts = append(texts, textsOf(t, block)...)
		}
		all, longest := 0, 0
		for _, text := range texts {
			all, longest = all+len(utf16.Encode([]rune(text))), max(longest, len(utf16.Encode([]rune(text))))
		}
		return shown.Shown(), wire, strings.Join([]string{
			within(t, len(shown.Blocks), 50, "blocks"),
			within(t, all, 13_200, "UTF-16 units in all texts"),
			within(t, longest, 3000, "of these in the longest text"),
			within(t, len(utf16.Encode([]rune(params["text"]))), 4000, "in the text of the notification"),
		}, "\n")
	}}
}

// textsOf are all texts below a block, escaped as Slack counts them.
func textsOf(t *testing.T, raw json.RawMessage) (texts []string) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if text, ok := inner.(string); ok && name == "text" {
					texts = append(texts, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
					continue
				}
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	var block any
	if err := json.Unmarshal(raw, &block); err != nil {
		t.Fatal(err)
	}
	walk(block)
	return texts
}
