package bot

import (
	"cmp"
	"fmt"
	"slices"

	"holm/approvals"
	"holm/internal/identity"
	"holm/internal/redact"
	"holm/policy"
)

// Labels of the buttons of a card. That of ApproveForTime ends in its minutes.
const (
	LabelApproveCall     = "Approve this call"
	LabelApproveForTime  = "Approve for "
	LabelAlwaysTool      = "Always: this tool"
	LabelAlwaysArguments = "Always: these arguments"
	LabelReject          = "Reject"
	LabelRejectWhy       = "Reject with reason…"
	LabelNotNow          = "Not now"
	LabelWrongArguments  = "Wrong arguments"
	LabelTooRisky        = "Too risky"
	LabelAskMeFirst      = "Ask me first"
	LabelTryDifferently  = "Try differently"
	LabelOther           = "Other…"
	LabelBack            = "Back"
	LabelDetails         = "Details"
)

// What a card shows at most of texts that others wrote, in characters.
const (
	maxName   = 80
	maxKey    = 200
	maxText   = 300
	maxArgKey = 60
)

// Surface is what a card is rendered for.
type Surface struct {
	Limits Limits
	// Files tells that the channel sends files, so that Details reach arguments
	// of any length.
	Files bool
	// Asks tells that the channel is an Asker, so that a reason can be given.
	Asks bool
	// User is the recipient, who sees the dialog while the request is held for them.
	User string
	// Holds tells whether the channel's form can show all of a card; nil where
	// there are no forms.
	Holds func(Card) bool
	// Shows tells whether the channel's message of a card has all of its arguments;
	// nil where Limits tell.
	Shows func(Card) bool
	// ShownAll tells that the recipient has been brought all of the arguments.
	ShownAll bool
	// Clock writes times for the recipient.
	Clock Clock
	// View is what the card shows of approvals for good; empty for none.
	View string
	// Token gives the token of a button; it is called for the buttons shown.
	Token func(approvals.Action) string
}

// Render shows a request as it stands: an open one with its buttons, a closed
// one with what became of it. It depends on nothing but its arguments.
func Render(r approvals.Request, s Surface) Card {
	args, readable := argumentsOf(r)
	if r.Status != approvals.Pending {
		c, _ := laidOut(r, s, args, closedNotes(r, s.Clock))
		return c
	}
	details := len(args) > 0 && reachable(r, s)
	if h := r.Held(); h != nil && (h.By != s.User || s.Asks) {
		c, _ := laidOut(r, s, args, append(askedNotes(r, s.Clock), heldNote(r, h, s)))
		c.Buttons = dialog(h, s, details)
		return c
	}
	if r.ApprovedBy(s.User) {
		c, _ := laidOut(r, s, args, append(askedNotes(r, s.Clock), votedNote(r)))
		c.Buttons = buttons(r, s, false, details)
		return c
	}
	if c, ok := s.lasting(r, args, readable); ok {
		return c
	}
	c, whole := s.whole(r, args, readable)
	if form := readable && wantsReview(r, s, whole); form {
		return s.byForm(r, args, details)
	}
	if whole {
		return c
	}
	return s.byDetails(r, args, readable, details)
}

// byForm is the card of a request that is approved from its form alone.
func (s Surface) byForm(r approvals.Request, args []Arg, details bool) Card {
	c, _ := laidOut(r, s, args, append(openNotes(r, s, false), "Approve from the form behind “"+LabelReview+"”, which shows everything."))
	c.Buttons = slices.Concat([][]Button{s.button(true, approvals.Review, LabelReview, Primary)}, buttons(r, s, false, details))
	if s.ShownAll && offers(r, policy.Persistent) {
		c.Buttons = append(c.Buttons, s.button(true, approvals.More, LabelMore, Plain))
	}
	return c
}

// byDetails is the card of a request whose arguments do not all stand on it: it
// approves after they were brought, where they can be.
func (s Surface) byDetails(r approvals.Request, args []Arg, readable, details bool) Card {
	switch {
	case readable && s.ShownAll:
		c, _ := laidOut(r, s, args, append(openNotes(r, s, true), "All arguments have been brought to you."))
		c.Buttons = buttons(r, s, true, details)
		return c
	case readable && details:
		c, _ := laidOut(r, s, args, append(openNotes(r, s, false), "Not all arguments stand here. “"+LabelDetails+"” brings them, and then this card can approve."))
		c.Buttons = slices.Concat([][]Button{s.button(true, approvals.ShowDetails, LabelDetails, Primary)}, buttons(r, s, false, false))
		return c
	}
	c, _ := laidOut(r, s, args, append(askedNotes(r, s.Clock), cannotApprove))
	c.Buttons = buttons(r, s, false, details)
	return c
}

// laidOut is the card of r with these notes and no buttons; whole tells that all
// arguments stand on it.
func laidOut(r approvals.Request, s Surface, args []Arg, notes []string) (c Card, whole bool) {
	c = Card{Head: headline(r), Facts: facts(r, len(args) == 0, s.Clock), Notes: append(notes, digestNote(r))}
	c.Args, c.Notes, whole = fit(args, s.Limits, c)
	return c, whole
}

// stands says in a word or two how r stands.
func stands(r approvals.Request) string {
	words := map[approvals.Status]string{
		approvals.Pending: "🔐", approvals.Approved: "✅ Approved", approvals.Rejected: "⛔ Rejected",
		approvals.Expired: "⌛ Expired", approvals.Cancelled: "🚫 Cancelled",
	}[r.Status]
	switch {
	case r.Unclaimed() && r.Stopped != nil:
		words = "🚫 Approved, not run"
	case r.Executing():
		words = "▶ Running"
	case r.Outcome != nil:
		words = map[approvals.Outcome]string{
			approvals.Succeeded: "✅ Done", approvals.Failed: "⚠ Failed", approvals.Unknown: "❓ Outcome unknown",
		}[*r.Outcome]
	}
	return words
}

func facts(r approvals.Request, noArgs bool, k Clock) []Fact {
	all := []Fact{
		{Label: "From", Value: from(r)},
		{Label: resourceLabel(r.ResourceType), Value: oneLine(r.Resource(), maxKey), Code: true},
	}
	if noArgs {
		all = append(all, Fact{Label: "Arguments", Value: "none"})
	}
	all = append(all, Fact{Label: "Why", Value: oneLine(r.RuleText, maxText)})
	if r.Claim != "" {
		all = append(all, Fact{Label: "The agent says", Value: quoted(redact.Text(r.Claim))})
	}
	if r.Asked > 1 {
		all = append(all, Fact{Label: "Asked", Value: fmt.Sprintf("%d times", r.Asked)})
	}
	if r.Status == approvals.Pending {
		all = append(all, Fact{Label: "Open until", Value: k.At(r.ExpiresAt)})
	}
	return all
}

func requester(r approvals.Request) string { return oneLine(r.RequesterName, maxName) }

// from says who asks, and through which agent unless it is the agent itself.
func from(r approvals.Request) string {
	if r.RequesterID == identity.AgentRequester(r.AgentID) {
		return "agent " + r.AgentID
	}
	return fmt.Sprintf("%s via agent %s", requester(r), r.AgentID)
}

func resourceLabel(kind string) string {
	labels := map[string]string{"tool": "Tool", "file": "File", "exec": "Command", "mcp": "MCP"}
	return cmp.Or(labels[kind], "Resource")
}

// openNotes tell what approving does; offered tells that the buttons for it stand
// beside them.
func openNotes(r approvals.Request, s Surface, offered bool) []string {
	notes := append(askedNotes(r, s.Clock), fmt.Sprintf(
		"Approving lets this call run: at once while the agent waits, or when it asks again within %d min.", r.TTLMinutes))
	if r.Asked > 1 {
		notes = append(notes, fmt.Sprintf(
			"The same call was asked for %d times, from several sessions. One answer is for all: approved, it runs once, and each of them gets its result.", r.Asked))
	}
	if offered && offers(r, policy.Once) {
		with := "these arguments"
		if r.Settings.Binding == policy.BindResource {
			with = "any arguments"
		}
		notes = append(notes, fmt.Sprintf("“%s” covers further calls of %s by %s with %s.", forTime(r), oneLine(r.Resource(), maxName), requester(r), with))
	}
	return notes
}

func offers(r approvals.Request, resolution policy.Resolution) bool {
	return slices.Contains(r.Settings.Resolutions, resolution)
}

func forTime(r approvals.Request) string {
	return fmt.Sprintf("%s%d min", LabelApproveForTime, r.TTLMinutes)
}

// digestNote lets a person compare what two surfaces show.
func digestNote(r approvals.Request) string {
	return "Digest " + r.ArgsDigest[:min(8, len(r.ArgsDigest))]
}

// buttons are those that the rule offers.
func buttons(r approvals.Request, s Surface, approvable, details bool) [][]Button {
	button := s.button
	once := approvable && offers(r, policy.Once)
	always := approvable && offers(r, policy.Persistent)
	return rows(s.Limits.ButtonRow,
		slices.Concat(
			button(approvable && offers(r, policy.Single), approvals.ApproveCall, LabelApproveCall, Primary),
			button(once, approvals.ApproveForTime, forTime(r), Plain)),
		slices.Concat(
			button(true, approvals.Reject, LabelReject, Danger),
			button(s.Asks && !r.Settings.RequireReason, approvals.AskReason, LabelRejectWhy, Plain)),
		slices.Concat(
			button(always, approvals.More, LabelMore, Plain),
			button(details, approvals.ShowDetails, LabelDetails, Plain)))
}

// button is a row of the one button, empty when it is not shown.
func (s Surface) button(shown bool, a approvals.Action, label string, style ButtonStyle) []Button {
	if !shown {
		return nil
	}
	return []Button{{Label: label, Token: s.Token(a), Style: style, Approves: a.Approves()}}
}

// rows leaves out empty rows and breaks those that are too long.
func rows(longest int, wanted ...[]Button) [][]Button {
	var all [][]Button
	for _, row := range wanted {
		all = slices.AppendSeq(all, slices.Chunk(row, max(longest, 1)))
	}
	return all
}
