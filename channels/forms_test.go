package channels_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/channels/slack"
	"holm/internal/testkit/slackfake"
)

// taps gives the events of one Slack app as they come.
type taps chan json.RawMessage

func (in taps) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	for _, e := range events {
		if err := in.keep(ctx, namespace, e.ID, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (in taps) keep(_ context.Context, _, _ string, payload json.RawMessage) error {
	in <- payload
	return nil
}

func (taps) LastID(context.Context, string) (int64, error) { return 0, nil }

// calledSlack is a Slack that calls by HTTP, and what opens a form there: its
// result is the form as it was sent.
func calledSlack(t *testing.T) (*slack.Channel, func(*testing.T, bot.Form) (slackfake.View, string)) {
	t.Helper()
	fake := slackfake.New(t, slackfake.Options{})
	person, app := fake.Person("olga"), fake.App(0)
	ch, err := slack.New(slack.Config{BotToken: app.BotToken, Events: true, SigningSecret: app.SigningSecret, APIURL: fake.APIURL()})
	if err != nil {
		t.Fatal(err)
	}
	in := make(taps, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ch.ServeWebhook(w, r, in) }))
	t.Cleanup(server.Close)
	fake.CallAt(0, server.URL)
	return ch, func(t *testing.T, f bot.Form) (slackfake.View, string) {
		t.Helper()
		card := bot.Card{Head: "A list", Buttons: [][]bot.Button{{{Label: "Open", Token: "token"}}}}
		if _, err := ch.Send(t.Context(), bot.Recipient{Identity: person.Identity()}, card); err != nil {
			t.Fatal(err)
		}
		person.Click("Open").Acked()
		var ev bot.Event
		for ev.Kind != bot.Tap { // Slack tells of the bot's own messages too
			var err error
			if ev, _, err = ch.Decode(<-in); err != nil {
				t.Fatal(err)
			}
		}
		if err := ch.Review(t.Context(), ev, f); err != nil {
			t.Fatal(err)
		}
		calls := fake.Calls("views.open")
		return person.WaitModal("the form", func(slackfake.View) bool { return true }), calls[len(calls)-1].Params["view"]
	}
}

// TestGoldenFormOfSeveral keeps the form of the golden list.
func TestGoldenFormOfSeveral(t *testing.T) {
	ch, opened := calledSlack(t)
	g, s := list(false), listSurface(ch)
	s.Holds = ch.Holds
	f, ok := bot.RenderDigestForm(g, s)
	if !ok {
		t.Fatal("nothing can be decided together")
	}
	v, wire := opened(t, f)
	var choices []string
	for _, c := range f.Choices {
		choices = append(choices, "( ) "+c.Label)
	}
	size := within(t, len(v.Blocks), 100, "blocks") + "\n" + within(t, len(wire), 250_000, "bytes")
	golden(t, filepath.Join("slack", "form.txt"), size+"\n\n"+v.Title+"\n\n"+v.Shown()+"\n\n"+strings.Join(choices, "\n")+"\n")
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(wire), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("slack", "form.json"), out.String()+"\n")
}

// TestAFormHoldsAFullList: whatever stands in the arguments, Slack takes the
// form, it shows them whole, and what has no room is named.
func TestAFormHoldsAFullList(t *testing.T) {
	ch, opened := calledSlack(t)
	for name, value := range map[string]string{
		"letters":  strings.Repeat("x", 11_500),
		"escapes":  strings.Repeat("<&>", 780),
		"lines":    strings.Repeat("y\\n", 1_900),
		"hidden":   strings.Repeat("\u202e", 1_900),
		"pictures": strings.Repeat("👩‍👩‍👧", 900),
		"one":      "x",
	} {
		t.Run(name, func(t *testing.T) {
			var g approvals.Digest
			for n := range ch.MaxListed() {
				r := open(n+1, fmt.Sprintf(`{"owner":"holm","value":"%s%02d"}`, value, n))
				r.ResourceKey = fmt.Sprintf("tool_%d", n/2)
				g.Listed = append(g.Listed, approvals.Listed{Request: r, Place: n})
			}
			s := listSurface(ch)
			s.Holds = ch.Holds
			f, ok := bot.RenderDigestForm(g, s)
			if !ok {
				t.Fatal("nothing can be decided together")
			}
			v, wire := opened(t, f)
			within(t, len(v.Blocks), 100, "blocks")
			within(t, len(wire), 250_000, "bytes")
			shown := v.Shown()
			for _, l := range g.Listed {
				number := fmt.Sprintf("#%d", l.ShortID)
				if !strings.Contains(shown, number+": Alice") && !strings.Contains(shown, number+" (no room here)") && !strings.Contains(shown, number+" (the only one") {
					t.Errorf("%s is missing", number)
				}
			}
			if name == "one" && len(f.Choices) != 20 {
				t.Errorf("%d choices", len(f.Choices))
			}
		})
	}
}
