// Package crashpoint names the places between the steps of a blocked call at
// which a process may die. In a build with the tag crashpoints the process ends
// itself there when it is told to, so that tests see what a death at that very
// place leaves behind. In every other build the places are empty.
package crashpoint

// Point is a place in the walk of a call; docs/walkthrough.md has its steps.
type Point string

// The points, in the order in which a call passes them. A point in the present
// tense lies before the commit, or before the platform or the upstream is called;
// one in the past tense right after it.
const (
	CallArrived    Point = "call-arrived"
	Asking         Point = "asking"
	Asked          Point = "asked"
	SendingCard    Point = "sending-card"
	SentCard       Point = "sent-card"
	StoredUpdate   Point = "stored-update"
	HandlingUpdate Point = "handling-update"
	Deciding       Point = "deciding"
	Decided        Point = "decided"
	AnsweringTap   Point = "answering-tap"
	AnsweredTap    Point = "answered-tap"
	ClaimingCall   Point = "claiming-call"
	ClaimedCall    Point = "claimed-call"
	ExecutedCall   Point = "executed-call"
	FinishingCall  Point = "finishing-call"
	FinishedCall   Point = "finished-call"
	EditingCard    Point = "editing-card"
	EditedCard     Point = "edited-card"
	TellingNews    Point = "telling-news"
	SentNotice     Point = "sent-notice"
	Expiring       Point = "expiring"
	Expired        Point = "expired"
	EndingLostCall Point = "ending-lost-call"
	EndedLostCall  Point = "ended-lost-call"
)
