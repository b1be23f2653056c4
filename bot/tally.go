package bot

import (
	"fmt"
	"strings"

	"holm/approvals"
	"holm/internal/stamp"
)

// askedNotes tell what the rule wants of those who decide an open request, and
// how far that is.
func askedNotes(r approvals.Request) []string {
	var notes []string
	if r.Settings.Needed() > 1 {
		notes = append(notes, tally(r))
	}
	if r.Settings.RequireReason {
		notes = append(notes, fmt.Sprintf("The rule wants a reason: %s, or %s.", inWords(approvals.ApproveCall, r), inWords(approvals.Reject, r)))
	}
	if r.EscalatedAt != nil {
		notes = append(notes, fmt.Sprintf("Not decided by %s: further people may answer as well.", stamp.Minute(*r.EscalatedAt)))
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
