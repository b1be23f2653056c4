package bot

import (
	"fmt"
	"slices"

	"holm/approvals"
)

// heldNote tells on a card that a reason is awaited, and what its absence means.
func heldNote(r approvals.Request, h *approvals.Hold, s Surface) string {
	switch {
	case h.By != s.User:
		return heldBy(r, s.Clock)
	case h.Action.Approves():
		return fmt.Sprintf("Your approval needs a reason. Nobody else can decide before %s; nothing is approved without it.", s.Clock.At(h.Until))
	case r.Settings.RequireReason:
		return fmt.Sprintf("Why? Nobody else can decide before %s; without an answer nothing is decided.", s.Clock.At(h.Until))
	}
	return fmt.Sprintf("Why? Nobody else can decide before %s; without an answer it is then rejected without a reason.", s.Clock.At(h.Until))
}

// dialog are the buttons while a reason is awaited: the ready reasons and the
// way out for the one who gives it, no decision for the others.
func dialog(h *approvals.Hold, s Surface, details bool) [][]Button {
	mine := h.By == s.User
	ready := mine && !h.Action.Approves()
	return rows(min(s.Limits.ButtonRow, 2),
		slices.Concat(
			s.button(ready, approvals.RejectNotNow, LabelNotNow, Plain),
			s.button(ready, approvals.RejectWrongArguments, LabelWrongArguments, Plain),
			s.button(ready, approvals.RejectTooRisky, LabelTooRisky, Plain),
			s.button(ready, approvals.RejectAskMeFirst, LabelAskMeFirst, Plain),
			s.button(ready, approvals.RejectTryDifferently, LabelTryDifferently, Plain)),
		slices.Concat(
			s.button(mine, approvals.WriteReason, LabelOther, Plain),
			s.button(mine, approvals.Back, LabelBack, Plain)),
		s.button(details, approvals.ShowDetails, LabelDetails, Plain))
}
