package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holm/approvals"
	"holm/internal/identity"
)

// Labels of the buttons of a digest. Those that decide name how many.
const (
	LabelReviewAll  = "Review all"
	LabelBackToList = "Back to the list"
)

const (
	// listRow is how many numbers stand in a row of buttons.
	listRow = 5
	// maxListedArg is what a list shows of one argument.
	maxListedArg = 40
)

// DigestSurface is what a digest is rendered for.
type DigestSurface struct {
	Limits Limits
	// Shows and Clock are as in Surface.
	Shows func(Card) bool
	Clock Clock
	// Token gives the token of a button about some of the requests.
	Token func(a approvals.Action, these ...approvals.Listed) string
	// Holds tells whether a form shows all of a card; RenderDigestForm alone
	// needs it.
	Holds func(Card) bool
}

func (b *Bot) digestSurface(ctx context.Context, ch Channel, g approvals.Digest) (DigestSurface, error) {
	q, err := quietTimeOf(ctx, b.Pool, identity.Address{Channel: g.Channel, Identity: g.Identity})
	return DigestSurface{
		Limits: ch.Limits(), Shows: showsOf(ch), Clock: b.clock(ch, q.Zone),
		Token: func(a approvals.Action, these ...approvals.Listed) string {
			return approvals.DigestToken(b.Keeper, g, a, these...)
		},
	}, err
}

// renderDigest makes the card of g, and the hash by which a later look knows
// that it has not changed. Arguments in full are for those alone who may decide.
func (b *Bot) renderDigest(ctx context.Context, ch Channel, g approvals.Digest) (card Card, hash string, err error) {
	if g.Reviewing {
		if g.Reviewing, err = b.mayReview(ctx, g); err != nil {
			return Card{}, "", err
		}
	}
	s, err := b.digestSurface(ctx, ch, g)
	if err != nil {
		return Card{}, "", err
	}
	card = RenderDigest(g, s)
	s.Clock = Clock{}
	return card, hashOf(RenderDigest(g, s)), nil
}

// mayReview tells whether the recipient of g may decide all that is open in it.
func (b *Bot) mayReview(ctx context.Context, g approvals.Digest) (bool, error) {
	for _, l := range openOf(g) {
		may, err := b.isWanted(ctx, delivery{Channel: g.Channel, Identity: g.Identity}, l.Request)
		if err != nil || !may {
			return false, err
		}
	}
	return true, nil
}

// RenderDigest shows the requests of g as they stand, each with its number and
// the button of its own card, or in full for a decision on several at once. It
// depends on nothing but its arguments.
func RenderDigest(g approvals.Digest, s DigestSurface) Card {
	open := openOf(g)
	if g.Reviewing && len(open) > 0 {
		return renderReview(g, open, s)
	}
	c := Card{Head: digestHead(g, open)}
	same := map[string]map[string]bool{}
	for tool, group := range byTool(open) {
		same[tool] = sameArguments(group)
	}
	var lines []Arg
	for _, l := range g.Listed {
		lines = append(lines, Arg{Name: listName(l), Value: listLine(l, same[toolOf(l.Request)], s.Clock)})
	}
	if len(open) > 0 {
		c.Notes = append(c.Notes, "A number brings the request's own card.")
		c.Buttons = numbers(g, open, s)
	}
	if len(open) > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("“%s” shows them in full and takes one decision for several.", LabelReviewAll))
		c.Buttons = append(c.Buttons, []Button{{Label: LabelReviewAll, Token: s.Token(approvals.ReviewAll), Style: Primary}})
	}
	c.Args, c.Notes, _ = fit(lines, s.Limits, c)
	return c
}

// openOf are the requests of g that wait for a decision.
func openOf(g approvals.Digest) []approvals.Listed {
	return slices.DeleteFunc(slices.Clone(g.Listed), func(l approvals.Listed) bool { return l.Status != approvals.Pending })
}

func digestHead(g approvals.Digest, open []approvals.Listed) string {
	all := len(g.Listed)
	switch len(open) {
	case 0:
		return fmt.Sprintf("None of these %d requests waits any more", all)
	case all:
		return fmt.Sprintf("🔐 %d requests wait for your decision", all)
	}
	return fmt.Sprintf("🔐 %d of %d requests wait for your decision", len(open), all)
}

func listName(l approvals.Listed) string {
	name := fmt.Sprintf("#%d", l.ShortID)
	if l.Settings.Risk != "" {
		name += " · risk: " + string(l.Settings.Risk)
	}
	return name
}

// listLine says how a request stands; of an open one also what sets it apart
// from others of its tool.
func listLine(l approvals.Listed, same map[string]bool, k Clock) string {
	tool := oneLine(l.Resource(), maxName)
	if l.Status != approvals.Pending {
		line := fmt.Sprintf("%s · %s · %s", stands(l.Request), tool, ending(l.Request, k))
		if l.Reason != nil {
			line += ", reason: " + quoted(*l.Reason)
		}
		return line
	}
	parts := []string{tool, from(l.Request)}
	args, _ := comparable(l.Request)
	for _, a := range args {
		if !same[a.key] {
			parts = append(parts, fmt.Sprintf("%s “%s”", oneLine(a.Name, maxListedArg),
				strings.NewReplacer("“", `"`, "”", `"`).Replace(oneLine(a.Value, maxListedArg))))
		}
	}
	if l.Asked > 1 {
		parts = append(parts, fmt.Sprintf("asked %d times", l.Asked))
	}
	if l.Message != "" {
		parts = append(parts, "its own card is in this chat")
	}
	return strings.Join(parts, " · ")
}

// numbers are the buttons that bring cards of their own, for those that have
// none yet.
func numbers(g approvals.Digest, wanted []approvals.Listed, s DigestSurface) [][]Button {
	agents := map[string]bool{}
	for _, l := range g.Listed {
		agents[l.AgentID] = true
	}
	var row []Button
	for _, l := range wanted {
		label := fmt.Sprintf("#%d", l.ShortID)
		if len(agents) > 1 {
			label += " · " + l.AgentID
		}
		if l.Message == "" {
			row = append(row, Button{Label: label, Token: s.Token(approvals.OpenCard, l)})
		}
	}
	return rows(listRow, row)
}

// argument is one argument of a call with the bytes by which it is compared:
// what two hidden values show is the same.
type argument struct {
	key, raw string
	Arg
}

// comparable are the arguments of a call; ok is false when they are not what
// they should be.
func comparable(r approvals.Request) (all []argument, ok bool) {
	shown, ok := argumentsOf(r)
	d := json.NewDecoder(bytes.NewReader(r.ArgsBytes))
	if _, err := d.Token(); err != nil || !ok {
		return nil, false
	}
	for _, a := range shown {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, false
		}
		all = append(all, argument{key: fmt.Sprint(key), raw: string(raw), Arg: a})
	}
	return all, !d.More()
}

// toolOf tells tools apart.
func toolOf(r approvals.Request) string {
	return r.AgentID + "\x00" + r.ResourceType + "\x00" + r.ResourceKey
}

func byTool(listed []approvals.Listed) map[string][]approvals.Listed {
	groups := map[string][]approvals.Listed{}
	for _, l := range listed {
		groups[toolOf(l.Request)] = append(groups[toolOf(l.Request)], l)
	}
	return groups
}

// sameArguments are the names of the arguments that all of several calls have
// with one value; of a single call none is.
func sameArguments(group []approvals.Listed) map[string]bool {
	if len(group) < 2 {
		return nil
	}
	seen := map[[2]string]int{}
	same := map[string]bool{}
	for _, l := range group {
		args, _ := comparable(l.Request)
		for _, a := range args {
			seen[[2]string{a.key, a.raw}]++
			if seen[[2]string{a.key, a.raw}] == len(group) {
				same[a.key] = true
			}
		}
	}
	return same
}
