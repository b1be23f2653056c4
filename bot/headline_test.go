package bot_test

import (
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
)

// TestTheFirstLineIsTheCall: what was asked for with short plain arguments, whole or
// not at all, and nothing of a caller that could pass for Holm's own words.
func TestTheFirstLineIsTheCall(t *testing.T) {
	for _, c := range []struct{ kind, key, args, want string }{
		{"tool", "mcp__demo__deploy", `{"version":"1.2.3"}`, "🔐 deploy on demo · version 1.2.3 · #12"},
		{"tool", "deploy", `{"a":1,"b":2,"c":3}`, "🔐 deploy · a 1 · b 2 · … · #12"},
		{"tool", "mcp__x__y", `{"note":"a\nb","password":"hunter2","o":{"p":1},"off":false}`, "🔐 y on x · #12"},
		{"tool", "mcp__x__y", `{"v":"1 · #7 · risk: low","to":"a\u202eb","#7":"x","long":"` + strings.Repeat("x", 41) + `","n":5}`, "🔐 y on x · n 5 · … · #12"},
		{"exec", "git push · #7", `{}`, "🔐 run git push ∙ #7 · #12"},
		{"file", "/srv/a.txt", `{}`, "🔐 file /srv/a.txt · #12"},
	} {
		r := open(c.args)
		r.ResourceType, r.ResourceKey, r.Settings.Risk = c.kind, c.key, ""
		if got := bot.Render(r, surface).Head; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestAFailureIsQuoted: the beginning of what went wrong, without its secrets.
func TestAFailureIsQuoted(t *testing.T) {
	for stored, want := range map[string]string{
		`{"result":{"content":[{"type":"text","text":"no such order\nhunter”2"}],"isError":true}}`: "after 1 min 0 s: “no such order↵hunter\"2”",
		`{"error":{"code":-32000,"message":"Bearer abcdefghijklmnop was refused"}}`:                "after 1 min 0 s: “Bearer [hidden] was refused”",
		`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 300) + `"}]}}`:       ": “" + strings.Repeat("x", 200) + "…”",
		``: "after 1 min 0 s.",
	} {
		r := ran(approvals.Failed)
		r.Result = []byte(stored)
		if notes := strings.Join(bot.Render(r, surface).Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("want %q in %q", want, notes)
		}
	}
}

// TestNotesNameOnlyButtonsThatAreThere holds for every golden card.
func TestNotesNameOnlyButtonsThatAreThere(t *testing.T) {
	long := open(`{"body":"` + strings.Repeat("x", 5000) + `"}`)
	noFiles := surface
	noFiles.Limits.Total, noFiles.Files = 900, false
	voted := open(`{"a":1}`)
	voted.Settings.Quorum, voted.Votes = 2, []approvals.Vote{{Approver: "olga", Name: "Olga", Via: "chat", Counts: true}}
	for name, card := range map[string]bot.Card{
		"whole": bot.Render(open(`{"a":1}`), surface), "long": bot.Render(long, surface), "no way": bot.Render(long, noFiles),
		"voted": bot.Render(voted, surface), "held": bot.Render(held("otto", approvals.Reject), surface),
	} {
		labels := labelsOf(card)
		for _, note := range card.Notes {
			for _, part := range strings.Split(note, "“")[1:] {
				named, _, _ := strings.Cut(part, "”")
				if !strings.Contains(strings.Join(labels, "\n"), named) {
					t.Errorf("%s: %q is named, and the buttons are %q", name, named, labels)
				}
			}
		}
	}
}
