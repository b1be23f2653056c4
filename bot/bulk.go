package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

// Beginnings of the labels that decide several requests.
const (
	LabelApproveThese = "Approve these "
	LabelRejectThese  = "Reject these "
)

// maxReviewLines keeps a review within the blocks that Slack gives a message.
const maxReviewLines = 30

// excluded is a request that is not decided together with others, and why.
type excluded struct {
	approvals.Listed
	why string
}

// keptOut tells why r is never decided together with others; empty when it may.
func keptOut(r approvals.Request) string {
	switch {
	case r.Settings.Risk == policy.RiskHigh:
		return "risk: high"
	case r.Settings.Needed() > 1:
		return fmt.Sprintf("needs %d approvals", r.Settings.Needed())
	case r.Settings.RequireReason:
		return "wants a reason"
	case !offers(r, policy.Single):
		return "its rule does not offer a single call"
	}
	return ""
}

// review is the open requests of a digest, parted into those that can be decided
// together and the others.
type review struct {
	groups [][]approvals.Listed // of one tool each
	alone  []excluded
}

// room tells what a review can show whole: the arguments of one request, and
// the review itself.
type room struct {
	request func(args []argument) bool
	review  func(c Card) bool
}

// messageRoom is that of a message.
func messageRoom(limits Limits, shows func(Card) bool) room {
	return room{
		request: func(args []argument) bool {
			return !slices.ContainsFunc(args, func(a argument) bool {
				return length(a.Name) > maxArgKey || weight(a.Value) > limits.Value
			})
		},
		review: func(c Card) bool {
			return len(c.Args) <= maxReviewLines && weightOf(c) <= limits.Total && (shows == nil || shows(c))
		},
	}
}

// tooLong is why a request is not decided together with others.
const tooLong = "its arguments do not fit here"

// reviewable tells whether a review of some kind could show all arguments of r.
func (b *Bot) reviewable(ch Channel, r approvals.Request) bool {
	args, ok := comparable(r)
	if !ok {
		return false
	}
	_, forms := ch.(Reviewer)
	return messageRoom(ch.Limits(), nil).request(args) || forms && formRoom(nil).request(args)
}

// parted puts every open request either into the group of its tool or aside.
func parted(open []approvals.Listed, has room) (v review) {
	place := map[string]int{}
	for _, l := range open {
		why := keptOut(l.Request)
		if args, ok := comparable(l.Request); why == "" && (!ok || !has.request(args)) {
			why = tooLong
		}
		if why != "" {
			v.alone = append(v.alone, excluded{l, why})
			continue
		}
		tool := toolOf(l.Request)
		if _, ok := place[tool]; !ok {
			place[tool] = len(v.groups)
			v.groups = append(v.groups, nil)
		}
		v.groups[place[tool]] = append(v.groups[place[tool]], l)
	}
	v.dropSingles()
	return v
}

// dropSingles sets aside what is alone of its tool: it has nothing to be
// compared with.
func (v *review) dropSingles() {
	v.groups = slices.DeleteFunc(v.groups, func(group []approvals.Listed) bool {
		if len(group) == 1 {
			v.alone = append(v.alone, excluded{group[0], "the only one of its tool"})
		}
		return len(group) < 2
	})
}

// shorten sets the last request of the largest group aside, for want of room.
func (v *review) shorten() {
	largest := 0
	for i, group := range v.groups {
		if len(group) >= len(v.groups[largest]) {
			largest = i
		}
	}
	group := v.groups[largest]
	v.alone = append(v.alone, excluded{group[len(group)-1], "no room here"})
	v.groups[largest] = group[:len(group)-1]
	v.dropSingles()
}

// fill parts the open requests so that what can be decided together is shown
// whole: by tool what is the same in all, then of each request who asks and what
// is different. What has no room is named and stays with its own card.
func fill(open []approvals.Listed, has room, card func(review) Card) (review, Card) {
	v := parted(open, has)
	c := card(v)
	for len(v.groups) > 0 && !has.review(c) {
		v.shorten()
		c = card(v)
	}
	return v, c
}

// renderReview is the review in place of the list.
func renderReview(g approvals.Digest, open []approvals.Listed, s DigestSurface) Card {
	_, c := fill(open, messageRoom(s.Limits, s.Shows), func(v review) Card {
		c := reviewCard(g, open, v, s.Clock)
		c.Whole = true
		for i, group := range v.groups {
			c.Buttons = append(c.Buttons, groupButtons(group, v.mark(i), s))
		}
		c.Buttons = append(c.Buttons, numbers(g, v.aloneListed(), s)...)
		c.Buttons = append(c.Buttons, []Button{{Label: LabelBackToList, Token: s.Token(approvals.BackToList)}})
		return c
	})
	whole := false
	if c.Args, c.Notes, whole = fit(c.Args, s.Limits, c); !whole {
		return c.Unapproving()
	}
	return c
}

// reviewCard is a review without its buttons.
func reviewCard(g approvals.Digest, open []approvals.Listed, v review, k Clock) Card {
	c := Card{Head: digestHead(g, open)}
	for i, group := range v.groups {
		c.Args = append(c.Args, groupLines(group, v.mark(i), k)...)
	}
	if decided := decidedLine(g); decided != "" {
		c.Args = append(c.Args, Arg{Name: "Decided", Value: decided})
	}
	if len(v.groups) > 0 {
		c.Notes = append(c.Notes, "Approving lets each of these calls run once, with exactly the arguments that stand here: those under “all” and its own.")
	}
	c.Notes = append(c.Notes, v.aloneNote()...)
	return c
}

// mark tells the groups apart, where there are several.
func (v review) mark(i int) string {
	if len(v.groups) < 2 {
		return ""
	}
	return string(rune('A' + i))
}

// groupLines name every argument with the request it belongs to, so that none
// can pass for a line of the card.
func groupLines(group []approvals.Listed, mark string, k Clock) []Arg {
	first := group[0].Request
	name := resourceLabel(first.ResourceType)
	if mark != "" {
		name = mark + " · " + name
	}
	lines := []Arg{{Name: name, Value: fmt.Sprintf("%s, agent %s: %d requests", oneLine(first.Resource(), maxKey), first.AgentID, len(group))}}
	same := sameArguments(group)
	args, _ := comparable(first)
	for _, a := range args {
		if same[a.key] {
			lines = append(lines, Arg{Name: "all · " + a.Name, Value: a.Value})
		}
	}
	for _, l := range group {
		lines = append(lines, Arg{Name: listName(l), Value: fmt.Sprintf("%s, open until %s, digest %s", from(l.Request), k.At(l.ExpiresAt), l.ArgsDigest[:min(8, len(l.ArgsDigest))])})
		args, _ := comparable(l.Request)
		for _, a := range args {
			if !same[a.key] {
				lines = append(lines, Arg{Name: fmt.Sprintf("#%d · %s", l.ShortID, a.Name), Value: a.Value})
			}
		}
	}
	return lines
}

// decidedLine says in short how those stand that do not wait any more.
func decidedLine(g approvals.Digest) string {
	var all []string
	for _, l := range g.Listed {
		if l.Status != approvals.Pending {
			all = append(all, fmt.Sprintf("#%d %s", l.ShortID, stands(l.Request)))
		}
	}
	return strings.Join(all, ", ")
}

func groupButtons(group []approvals.Listed, mark string, s DigestSurface) []Button {
	approve, reject := fmt.Sprintf("%s%d once", LabelApproveThese, len(group)), fmt.Sprintf("%s%d", LabelRejectThese, len(group))
	if mark != "" {
		approve, reject = approve+" ("+mark+")", reject+" ("+mark+")"
	}
	return []Button{
		{Label: approve, Token: s.Token(approvals.ApproveThese, group...), Style: Primary, Approves: true},
		{Label: reject, Token: s.Token(approvals.RejectThese, group...), Style: Danger},
	}
}

func (v review) aloneNote() []string {
	if len(v.alone) == 0 {
		return nil
	}
	var names []string
	for _, e := range v.alone {
		names = append(names, fmt.Sprintf("#%d (%s)", e.ShortID, e.why))
	}
	return []string{"Not decided together with others: " + strings.Join(names, ", ") + "."}
}

func (v review) aloneListed() (listed []approvals.Listed) {
	for _, e := range v.alone {
		listed = append(listed, e.Listed)
	}
	return listed
}

// weight is the room that a text takes at most on any platform: some count
// UTF-16 units, some what escaping adds, some indent lines.
func weight(s string) (n int) {
	for _, r := range s {
		switch {
		case strings.ContainsRune("&<>\n", r):
			n += 5
		case r > '~':
			n += 2
		default:
			n++
		}
	}
	return n
}

func weightOf(c Card) int {
	n := weight(c.Head) + spare
	for _, a := range c.Args {
		n += weight(a.Name) + weight(a.Value) + aroundArg
	}
	for _, note := range c.Notes {
		n += weight(note) + 1
	}
	return n
}

// decideThese puts one decision on each of the requests that the button was
// made for. What others decided meanwhile, or its person may not decide any
// more, is left out and named. A tap that comes twice is told the same.
func (b *Bot) decideThese(ctx context.Context, ch Channel, btn approvals.DigestButton, reason string, who approvals.Actor) (string, error) {
	d := approvals.Decision{Approve: btn.Action == approvals.ApproveThese, Resolution: policy.Single, Reason: strings.TrimSpace(reason), Actor: who}
	var done, left []string
	for _, l := range btn.These {
		why := keptOut(l.Request)
		if why == "" && d.Approve && !b.reviewable(ch, l.Request) {
			why = tooLong
		}
		if why == "" {
			var err error
			if why, err = b.decideOne(ctx, l, d); err != nil {
				return "", err
			}
		}
		if why != "" {
			left = append(left, fmt.Sprintf("#%d (%s)", l.ShortID, why))
			continue
		}
		done = append(done, fmt.Sprintf("#%d", l.ShortID))
	}
	return bulkAnswer(d.Approve, done, left), nil
}

// decideOne puts d on l, and gives why that could not be, empty when it was.
func (b *Bot) decideOne(ctx context.Context, l approvals.Listed, d approvals.Decision) (why string, err error) {
	d.AgentID, d.RequestID = l.AgentID, l.ID
	r, err := b.Approvals.Decide(ctx, d)
	if err == nil || isKnown(err, fault.Conflict) && isRepeat(r, d) {
		return "", nil
	}
	f, ok := fault.As(err)
	switch {
	case !ok || f.Kind == fault.Internal || f.Kind == fault.Unavailable:
		return "", err
	case r.ResolvedAt != nil:
		return "already " + string(r.Status), nil
	case f.Code == "reason_awaited":
		return "a reason is being written", nil
	case f.Kind == fault.Forbidden:
		return "not yours to decide", nil
	}
	return oneLine(f.Message, maxListedArg), nil
}

// bulkAnswer names what was left out first in importance: platforms cut long
// answers, and the message itself shows what was decided.
func bulkAnswer(approved bool, done, left []string) string {
	verb := "Rejected"
	if approved {
		verb = "Approved once"
	}
	if len(left) == 0 {
		return fmt.Sprintf("%s: %s.", verb, strings.Join(done, ", "))
	}
	out := "Left out: " + strings.Join(left, ", ") + "."
	if len(done) == 0 {
		return "Nothing was changed. " + out
	}
	return fmt.Sprintf("%s: %d. %s", verb, len(done), out)
}
