package bot

import (
	"fmt"
	"strings"

	"holm/approvals"
	"holm/policy"
)

// askedNotes tell what the rule wants of those who decide an open request, and
// how far that is.
func askedNotes(r approvals.Request, k Clock) []string {
	var notes []string
	if r.Settings.Needed() > 1 {
		notes = append(notes, tally(r))
	}
	if r.Settings.RequireReason {
		notes = append(notes, fmt.Sprintf("The rule wants a reason: %s, or %s.", inWords(approvals.ApproveCall, r), inWords(approvals.Reject, r)))
	}
	if r.EscalatedAt != nil {
		notes = append(notes, fmt.Sprintf("Not decided by %s: further people may answer as well.", k.At(*r.EscalatedAt)))
	}
	return notes
}

// tally says how many approvals there are of those that are needed, and whose.
func tally(r approvals.Request) string {
	var names []string
	for _, v := range r.Counted() {
		names = append(names, fmt.Sprintf("%s (%s)", oneLine(v.Name, maxName), oneLine(v.Via, maxName)))
	}
	if len(names) == 0 {
		return sentence(r.Tally() + " so far")
	}
	return sentence(r.Tally() + ": " + strings.Join(names, ", "))
}

// votedNote tells somebody who has approved a request that waits for others.
func votedNote(r approvals.Request) string {
	return fmt.Sprintf("You have approved: %s. Nothing runs before the others have.", r.Tally())
}

// counted tells an approver what their vote did.
func counted(r approvals.Request) string {
	return fmt.Sprintf("Yours is the %s of %d approvals of request #%d; nothing runs yet.", ordinal(len(r.Counted())), r.Settings.Needed(), r.ShortID)
}

// ordinal is for as many as a quorum can be.
func ordinal(n int) string {
	if n >= 1 && n <= 3 {
		return []string{"1st", "2nd", "3rd"}[n-1]
	}
	return fmt.Sprintf("%dth", n)
}

// narrowestNote tells why an approval is narrower than some voted for; empty when
// all voted alike.
func narrowestNote(r approvals.Request) string {
	counted := r.Counted()
	same := true
	var said []string
	for _, v := range counted {
		same = same && votedFor(v, r) == votedFor(counted[0], r)
		said = append(said, fmt.Sprintf("%s approved %s", oneLine(v.Name, maxName), votedFor(v, r)))
	}
	if same {
		return ""
	}
	return sentence(strings.Join(said, ", ") + "; the narrowest holds")
}

func votedFor(v approvals.Vote, r approvals.Request) string {
	switch {
	case v.Resolution == policy.Single:
		return "this call only"
	case v.Resolution == policy.Once:
		return fmt.Sprintf("for %d min", r.TTLMinutes)
	case v.Extent != nil && *v.Extent == approvals.TheseArguments:
		return "these arguments for good"
	}
	return "any arguments for good"
}
