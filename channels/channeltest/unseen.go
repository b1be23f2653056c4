package channeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// growing are arguments from one byte to a mebibyte, of texts that platforms count
// and cut in ways of their own.
func growing(t *testing.T) (all []json.RawMessage) {
	t.Helper()
	encode := func(v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	sizes := map[string][]int{
		"x": {1, 500, 2_000, 6_000, 20_000, 1 << 20}, "&<": {500, 1_500, 3_000, 20_000}, "😀": {600, 1_900}, "y\n": {400, 1_200, 3_000}, "`*": {700, 2_000},
	}
	for filler, sizes := range sizes {
		for _, size := range sizes {
			encode(map[string]string{"value": strings.Repeat(filler, max(size/len(filler), 1)) + ".", "zz": "the last one"})
		}
	}
	for _, many := range []int{10, 45, 70, 90, 1_000} {
		args := map[string]string{}
		for i := range many {
			args[fmt.Sprintf("field%04d", i)] = fmt.Sprintf("value%04d", i)
		}
		encode(args)
	}
	return all
}

// asking is an open request of high or no risk with these arguments.
func asking(n int, args json.RawMessage, risk policy.Risk) approvals.Request {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	return approvals.Request{
		ID: fmt.Sprint("id-", n), AgentID: "main", ShortID: n, RequesterName: "Alice", ResourceType: "tool", ResourceKey: "shop_refund",
		ArgsBytes: args, ArgsDigest: fmt.Sprintf("9c41ab%02d00ff", n), RuleText: "refunds are asked for", Status: approvals.Pending,
		Settings:   approvals.Settings{Resolutions: []policy.Resolution{policy.Single, policy.Once, policy.Persistent}, Risk: risk},
		TTLMinutes: 60, Version: 1, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour), ReadAt: noon,
	}
}

// nobodyApprovesUnseen: as arguments grow, no button that approves is ever seen
// beside less than all of them, on cards, in lists and in forms; then there is a way
// to all of them, or the card says that it cannot approve.
func nobodyApprovesUnseen(t *testing.T, h *Harness) {
	if h.Seen == nil {
		t.Skip("nobody can look at this platform's messages")
	}
	approvable := 0
	for _, args := range growing(t) {
		for _, risk := range []policy.Risk{"", policy.RiskHigh}[:1+len(args)%2] {
			card := bot.Render(asking(7, args, risk), h.surface())
			seen := h.sees(t, card)
			switch {
			case approves(seen, card):
				approvable++
				showsAll(t, seen, args)
			case slices.ContainsFunc(card.Buttons, func(row []bot.Button) bool {
				return row[0].Label == bot.LabelDetails || row[0].Label == bot.LabelReview
			}):
			case !strings.Contains(seen.Text, "this card cannot approve"):
				t.Errorf("%d bytes: no way to all arguments, and no word of it: %q", len(args), seen.Text)
			}
		}
		h.listsUnseen(t, args)
	}
	if approvable == 0 {
		t.Error("nothing can be approved")
	}
}

// listsUnseen is the same of the review of a list, as a message and as a form.
func (h *Harness) listsUnseen(t *testing.T, args json.RawMessage) {
	t.Helper()
	g := approvals.Digest{ID: "digest", Reviewing: true}
	for n := range 2 {
		g.Listed = append(g.Listed, approvals.Listed{Request: asking(n+1, args, ""), Place: n})
	}
	s := bot.DigestSurface{Limits: h.Channel.Limits(), Shows: h.surface().Shows, Holds: h.surface().Holds, Token: func(a approvals.Action, _ ...approvals.Listed) string {
		return fmt.Sprint("list-", a)
	}}
	if card := bot.RenderDigest(g, s); slices.ContainsFunc(slices.Concat(card.Buttons...), func(b bot.Button) bool { return b.Approves }) {
		if seen := h.sees(t, card); approves(seen, card) {
			showsAll(t, seen, args)
		}
	}
	if s.Holds == nil {
		return
	}
	form, ok := bot.RenderDigestForm(g, s)
	if ok && (!s.Holds(form.Card) || slices.ContainsFunc(form.Card.Args, func(a bot.Arg) bool { return a.Cut > 0 })) {
		t.Errorf("%d bytes: a form takes a decision on less than all", len(args))
	}
}

// surface is what the bot renders a card for on the channel.
func (h *Harness) surface() bot.Surface {
	s := bot.Surface{Limits: h.Channel.Limits(), User: "olga", Token: func(a approvals.Action) string { return fmt.Sprint("token-", a) }}
	_, s.Files = h.Channel.(bot.FileSender)
	_, s.Asks = h.Channel.(bot.Asker)
	if reviewer, ok := h.Channel.(bot.Reviewer); ok {
		s.Holds = reviewer.Holds
	}
	if shower, ok := h.Channel.(bot.Shower); ok {
		s.Shows = shower.Shows
	}
	return s
}

// approves tells whether a button that approves is seen.
func approves(seen Seen, card bot.Card) bool {
	for _, b := range slices.Concat(card.Buttons...) {
		if b.Approves && slices.ContainsFunc(seen.Buttons, func(s bot.Button) bool { return s.Label == b.Label }) {
			return true
		}
	}
	return false
}

// showsAll wants the whole of each argument to be read; how further lines are
// marked is the channel's.
func showsAll(t *testing.T, seen Seen, args json.RawMessage) {
	t.Helper()
	var values map[string]string
	if err := json.Unmarshal(args, &values); err != nil {
		t.Fatal(err)
	}
	bare := strings.NewReplacer(" ", "", "\n", "", "│", "", "|", "")
	text := bare.Replace(seen.Text)
	for name, value := range values {
		if !strings.Contains(text, name+":"+bare.Replace(value)) {
			t.Errorf("%d bytes may be approved, and %s is not seen whole", len(args), name)
		}
	}
}
