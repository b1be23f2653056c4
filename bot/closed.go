package bot

import (
	"encoding/json"
	"fmt"
	"strings"

	"holm/approvals"
	"holm/internal/redact"
	"holm/policy"
)

// closedNotes tell who decided, when, what that allowed, and what the call did.
func closedNotes(r approvals.Request, k Clock) []string {
	notes := []string{sentence(ending(r, k))}
	if r.Superseded() {
		return append(notes, sentence(oneLine(*r.Stopped, maxText)))
	}
	if r.Reason != nil {
		notes = append(notes, "Reason: "+quoted(*r.Reason))
	}
	if r.Status == approvals.Approved && len(r.Votes) > 0 {
		notes = append(notes, tally(r))
		if note := narrowestNote(r); note != "" {
			notes = append(notes, note)
		}
	}
	if r.Revoked != nil {
		notes = append(notes, fmt.Sprintf("Revoked by %s at %s: no further call is let through.", oneLine(r.Revoked.Name, maxName), k.At(r.Revoked.At)))
	}
	if r.Status == approvals.Approved {
		notes = append(notes, execution(r, k))
	}
	if r.Stopped != nil && r.ClaimedAt != nil {
		notes = append(notes, "No further call is let through: "+oneLine(*r.Stopped, maxText)+".")
	}
	return notes
}

// quoted is a text of somebody else between quotation marks that it cannot
// close.
func quoted(s string) string {
	return quotedTo(s, maxText)
}

func quotedTo(s string, n int) string {
	return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(oneLine(s, n)) + "”"
}

// ending is the end of the question in words, without a full stop.
func ending(r approvals.Request, k Clock) string {
	at := k.At(*r.ResolvedAt)
	switch r.Status {
	case approvals.Approved:
		return fmt.Sprintf("%s by %s at %s", allowed(r), decider(r), at)
	case approvals.Rejected:
		text := fmt.Sprintf("rejected by %s at %s", decider(r), at)
		if r.TryDifferently {
			text += ", to be tried differently"
		}
		return text
	case approvals.Cancelled:
		return fmt.Sprintf("cancelled by %s at %s; nothing ran", decider(r), at)
	}
	return fmt.Sprintf("expired at %s without an answer; nothing ran", at)
}

// allowed is what an approval opened.
func allowed(r approvals.Request) string {
	switch *r.Resolution {
	case policy.Single:
		return "approved, this call only,"
	case policy.Once:
		return fmt.Sprintf("approved for %d min", r.TTLMinutes)
	}
	if r.Extent != nil && *r.Extent == approvals.TheseArguments {
		return "always allowed with these arguments"
	}
	return "always allowed with any arguments"
}

// decider is who closed the request and where.
func decider(r approvals.Request) string {
	who := "its requester"
	if r.ResolvedName != nil && *r.ResolvedName != "" {
		who = oneLine(*r.ResolvedName, maxName)
	}
	if r.ResolvedVia != nil && *r.ResolvedVia != "" {
		who += " (" + oneLine(*r.ResolvedVia, maxName) + ")"
	}
	return who
}

// execution is what the approved call did so far.
func execution(r approvals.Request, k Clock) string {
	switch {
	case r.ClaimedAt == nil && r.Stopped != nil:
		return "The call has not run: " + oneLine(*r.Stopped, maxText) + "."
	case r.ClaimedAt == nil && r.Revoked != nil:
		return "The call has not run."
	case r.ClaimedAt == nil:
		return fmt.Sprintf("The call has not run yet; it may until %s.", k.At(r.ValidUntil()))
	case r.FinishedAt == nil:
		return fmt.Sprintf("The call has been running since %s.", k.At(*r.ClaimedAt))
	}
	return outcome(r, k)
}

// maxFailure is how much of an error a card quotes, in characters.
const maxFailure = 200

func outcome(r approvals.Request, k Clock) string {
	at := k.At(*r.FinishedAt)
	switch *r.Outcome {
	case approvals.Succeeded:
		return fmt.Sprintf("The call succeeded at %s%s.", at, after(r))
	case approvals.Failed:
		text := fmt.Sprintf("The call failed at %s%s", at, after(r))
		if why := failureOf(r); why != "" {
			return text + ": " + why
		}
		return text + "."
	}
	return fmt.Sprintf("The outcome is unknown since %s: the call had been sent and may have run. It is not sent again by itself.", at)
}

// after is how long the call ran. Of one that ran elsewhere the report alone is known.
func after(r approvals.Request) string {
	if r.ClaimedAt == nil || r.Outside() {
		return ""
	}
	return ", after " + took(r.FinishedAt.Sub(*r.ClaimedAt))
}

// failureOf quotes the beginning of the error that the call ended with.
func failureOf(r approvals.Request) string {
	var kept struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := ""
	switch {
	case json.Unmarshal(r.Result, &kept) != nil:
	case kept.Error != nil:
		text = kept.Error.Message
	case len(kept.Result) > 0:
		text, _ = readResult(kept.Result)
	}
	if text = strings.TrimSpace(redact.Text(text)); text == "" {
		return ""
	}
	return quotedTo(text, maxFailure)
}

// sentence gives a clause a capital and a full stop.
func sentence(clause string) string {
	if clause != "" && clause[0] >= 'a' && clause[0] <= 'z' {
		clause = string(clause[0]-'a'+'A') + clause[1:]
	}
	return clause + "."
}
