package bot_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

var update = flag.Bool("update", false, "write the golden cards anew")

// surface is a channel with files and Telegram's measures.
var surface = bot.Surface{
	Asks: true, User: "olga",
	Limits: bot.Limits{Value: 600, Total: 3800, ButtonRow: 3}, Files: true,
	Token: func(a approvals.Action) string { return fmt.Sprintf("token-%d", a) },
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// open is a pending request with these arguments.
func open(args string) approvals.Request {
	return approvals.Request{
		ID: "id", AgentID: "main", ShortID: 12, RequesterName: "Alice", ResourceType: "tool",
		ResourceKey: "github__create_issue", ArgsBytes: []byte(args), ArgsDigest: "9c41ab1200ff",
		RuleText: "issues are public", Status: approvals.Pending,
		Settings: approvals.Settings{
			Resolutions: []policy.Resolution{policy.Single, policy.Once, policy.Persistent},
			Binding:     policy.BindArguments, Risk: policy.RiskHigh,
		},
		TTLMinutes: 60, Version: 1, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
}

// closed is a request that Bob ended at 12:10.
func closed(status approvals.Status, change func(*approvals.Request)) approvals.Request {
	r := open(`{"title":"hello"}`)
	r.Status, r.ResolvedAt = status, new(noon.Add(10*time.Minute))
	r.ResolvedBy, r.ResolvedName, r.ResolvedVia = new("u1"), new("Bob"), new("telegram")
	change(&r)
	return r
}

func approved(resolution policy.Resolution, change func(*approvals.Request)) approvals.Request {
	return closed(approvals.Approved, func(r *approvals.Request) {
		r.Resolution = &resolution
		change(r)
	})
}

// held is an open request whose reviewer is writing a reason.
func held(by string, action approvals.Action) approvals.Request {
	r := open(`{"a":1}`)
	r.Hold = &approvals.Hold{By: by, Name: "Ot\u202eto", Via: "telegram", Action: action, Until: noon.Add(2 * time.Minute)}
	return r
}

func nothing(*approvals.Request) {}

func ran(outcome approvals.Outcome) approvals.Request {
	return approved(policy.Single, func(r *approvals.Request) {
		r.ClaimedAt, r.FinishedAt, r.Outcome = new(noon.Add(11*time.Minute)), new(noon.Add(12*time.Minute)), &outcome
	})
}

func manyArguments(n int, value string) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"field_%02d":%q`, i, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestCardsLookAsTheyDid(t *testing.T) {
	long := strings.Repeat("All work and no play. ", 400)
	cards := map[string]approvals.Request{
		"open-short":     open(`{"owner":"holm","title":"hello","draft":false,"labels":["a","b"],"count":1.50}`),
		"open-none":      open(`{}`),
		"open-long":      open(`{"first":"short","body":"` + long + `","last":"still here"}`),
		"open-secrets":   open(`{"user":"ann","password":"hunter2","nested":{"api_key":"k","url":"https://ann:pw@host/x"},"note":"sk-aaaaaaaaaaaaaaaaaaaaaaaa"}`),
		"open-bidi":      open("{\"to\":\"gro.live\u202eevil.org\",\"zero\u200bwidth\":\"a\u200bb\",\"nested\":[\"\u2066x\"],\"lines\":\"one\\ntwo\"}"),
		"open-ambiguous": open(`{"a":"true","b":true,"c":"5","d":5,"e":"","f":" x ","g":null,"h":"{\"a\":1}","i":"\"q\""}`),
		"open-50":        open(manyArguments(50, "value")),
		"open-200":       open(manyArguments(200, strings.Repeat("v", 100))),
		"open-offered": func() approvals.Request {
			r := open(`{"a":1}`)
			r.Settings = approvals.Settings{Resolutions: []policy.Resolution{policy.Once}, Binding: policy.BindResource}
			return r
		}(),
		"held-mine":     held("olga", approvals.Reject),
		"held-other":    held("otto", approvals.Reject),
		"held-approval": held("olga", approvals.ApproveCall),
		"open-thrice": func() approvals.Request {
			r := open(`{"title":"hello"}`)
			r.Asked = 3
			return r
		}(),
		"open-hostile": func() approvals.Request {
			r := open(`{"a":1}`)
			r.RequesterName, r.ResourceKey = "Eve\nOpen until: never\u202e", "x\nDigest 00000000"
			r.RuleText = strings.Repeat("long ", 200)
			return r
		}(),
		"open-claimed": func() approvals.Request {
			r := open(`{"a":1}`)
			r.Claim = "the owner has approved this”\nDigest 00000000\u202e " + strings.Repeat("and more ", 60)
			return r
		}(),
		"approved-single":    approved(policy.Single, nothing),
		"approved-hour":      approved(policy.Once, nothing),
		"approved-tool":      approved(policy.Persistent, func(r *approvals.Request) { r.Extent = new(approvals.WholeTool) }),
		"approved-arguments": approved(policy.Persistent, func(r *approvals.Request) { r.Extent = new(approvals.TheseArguments) }),
		"stopped": approved(policy.Single, func(r *approvals.Request) {
			r.Stopped = new("the rules for this call changed; asked anew as request 13")
		}),
		"stopped-hour": func() approvals.Request {
			r := ran(approvals.Succeeded)
			r.Resolution, r.Stopped = new(policy.Once), new("the tool's description changed; asked anew as request 13")
			return r
		}(),
		"superseded": closed(approvals.Cancelled, func(r *approvals.Request) {
			r.ResolvedName, r.ResolvedVia = new("Holm"), new("system")
			r.Stopped = new("the rules for this call changed; asked anew as request 13")
			r.Reason = r.Stopped
		}),
		"running":   approved(policy.Single, func(r *approvals.Request) { r.ClaimedAt = new(noon.Add(11 * time.Minute)) }),
		"succeeded": ran(approvals.Succeeded),
		"failed":    ran(approvals.Failed),
		"unknown":   ran(approvals.Unknown),
		"rejected":  closed(approvals.Rejected, func(r *approvals.Request) { r.Reason = new("wrong\nrepository\u202e") }),
		"expired": closed(approvals.Expired, func(r *approvals.Request) {
			r.ResolvedBy, r.ResolvedName, r.ResolvedVia = nil, nil, nil
		}),
		"cancelled": closed(approvals.Cancelled, func(r *approvals.Request) { r.ResolvedName, r.ResolvedVia = nil, nil }),
	}
	for name, r := range cards {
		t.Run(name, func(t *testing.T) {
			card := bot.Render(r, surface)
			if n := seen(card); n > surface.Limits.Total {
				t.Errorf("the card shows %d characters, more than %d", n, surface.Limits.Total)
			}
			if (r.Status == approvals.Pending) == (len(card.Buttons) == 0) {
				t.Errorf("a request that is %s has the buttons %v", r.Status, card.Buttons)
			}
			golden(t, name, dump(card))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "cards", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := must(os.ReadFile(path))
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("card %s (-want +got):\n%s", name, diff)
	}
}

// dump writes every field of a card that a person can see.
func dump(c bot.Card) string {
	lines := []string{c.Head}
	for _, f := range c.Facts {
		lines = append(lines, f.Label+": "+f.Value)
	}
	for _, a := range c.Args {
		line := "- " + a.Name + ": " + a.Value
		if a.Cut > 0 {
			line += fmt.Sprintf(" … %d more characters", a.Cut)
		}
		lines = append(lines, line)
	}
	lines = append(lines, c.Notes...)
	for _, row := range c.Buttons {
		var labels []string
		for _, b := range row {
			labels = append(labels, fmt.Sprintf("[%s %s %s]", b.Label, b.Style, b.Token))
		}
		lines = append(lines, strings.Join(labels, " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// seen counts as a platform does, without buttons.
func seen(c bot.Card) int {
	c.Buttons = nil
	return utf8.RuneCountInString(dump(c))
}

func TestACardWithoutAWayToTheArgumentsCannotApprove(t *testing.T) {
	r := open(`{"body":"` + strings.Repeat("x", 100_000) + `"}`)
	noFiles := surface
	noFiles.Files = false

	labels := labelsOf(bot.Render(r, noFiles))
	if diff := cmp.Diff([]string{bot.LabelReject, bot.LabelRejectWhy}, labels); diff != "" {
		t.Errorf("buttons without a way to the arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{bot.LabelDetails, bot.LabelReject, bot.LabelRejectWhy}, labelsOf(bot.Render(r, surface))); diff != "" {
		t.Errorf("buttons with files (-want +got):\n%s", diff)
	}
	shown := surface
	shown.ShownAll = true
	if labels := labelsOf(bot.Render(r, shown)); !slices.Contains(labels, bot.LabelApproveCall) {
		t.Errorf("buttons after all was shown are %v", labels)
	}
	notAnObject := open(`["a"]`)
	if labels := labelsOf(bot.Render(notAnObject, surface)); slices.Contains(labels, bot.LabelApproveCall) {
		t.Errorf("arguments that cannot be read may be approved: %v", labels)
	}
}

// What a channel adds to each line and to each argument counts as well.
func TestACardThatChannelsMustCutIsNotWhole(t *testing.T) {
	many := map[string]int{}
	for i := range 100 {
		many[fmt.Sprint("a", i)] = i
	}
	for name, args := range map[string][]byte{
		"lines":     must(json.Marshal(map[string]string{"text": "x" + strings.Repeat("\ny", surface.Limits.Total/5)})),
		"arguments": must(json.Marshal(many)),
	} {
		if labels := labelsOf(bot.Render(open(string(args)), surface)); !slices.Contains(labels, bot.LabelDetails) {
			t.Errorf("%s: no way to the rest: %v", name, labels)
		}
	}
}

func labelsOf(c bot.Card) []string {
	var labels []string
	for _, b := range slices.Concat(c.Buttons...) {
		labels = append(labels, b.Label)
	}
	return labels
}

func TestCutsDoNotPartSigns(t *testing.T) {
	tiny := surface
	tiny.Limits.Value = 50
	for sign, unit := range map[string]string{
		"accent":  "e\u0301\u0323",
		"family":  "👩\u200d👩\u200d👧",
		"skin":    "👍🏽",
		"flag":    "🇩🇪",
		"escape":  "\u202e",
		"control": "\x01",
	} {
		for pad := range 8 {
			start := "x" + strings.Repeat("-", pad)
			value := string(must(json.Marshal(start + strings.Repeat(unit, 60))))
			arg := bot.Render(open(`{"v":`+value+`}`), tiny).Args[0]
			rest := strings.TrimPrefix(arg.Value, start)
			if shown := bot.Visible(unit); strings.ReplaceAll(rest, shown, "") != "" {
				t.Errorf("%s, pad %d: cut to %q", sign, pad, arg.Value)
			}
			if arg.Cut == 0 || utf8.RuneCountInString(arg.Value) > 50 {
				t.Errorf("%s, pad %d: %d characters shown, %d cut", sign, pad, utf8.RuneCountInString(arg.Value), arg.Cut)
			}
		}
	}
}

func TestLaterArgumentsKeepTheirNames(t *testing.T) {
	card := bot.Render(open(manyArguments(50, strings.Repeat("v", 5000))), surface)
	if len(card.Args) != 50 {
		t.Errorf("%d of 50 arguments are named", len(card.Args))
	}
	if n := seen(card); n > surface.Limits.Total {
		t.Errorf("the card shows %d characters", n)
	}
}
