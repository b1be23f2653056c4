// Package channeltest is the one suite that every channel passes: what
// bot.Channel promises to the bot, tried against the channel's own platform or a
// strict fake of it. A channel's test gives a Harness and calls Run.
package channeltest

import (
	"encoding/json"
	"testing"
	"time"

	"holm/bot"
)

// Harness is a channel that was just made, beside its platform. Fields that are
// nil stand for what there is not on this platform; the tests that need them
// are skipped.
type Harness struct {
	Channel bot.Channel
	// Owner and Stranger are people whom the channel can write to; Stranger is
	// empty where there is only one person.
	Owner, Stranger string
	// Nobody has the form of an identity and belongs to nobody; empty for none.
	Nobody string

	// Seen is what a person sees of a message.
	Seen func(t *testing.T, who string, ref bot.MessageRef) Seen
	// Break makes the next call of Send or Update go wrong.
	Break func(Fault)
	// Block lets the channel write to the person no more; Delete takes a message
	// away, so that it cannot be edited; Revoke takes away what the channel
	// proves itself with.
	Block  func(who string)
	Delete func(t *testing.T, ref bot.MessageRef)
	Revoke func()

	// Listening waits until Run receives.
	Listening func(t *testing.T)
	// Tap lets a person press the button with this label, and returns at once.
	// The label stands on the Owner's message ref.
	Tap func(t *testing.T, who string, ref bot.MessageRef, label string)
	// Confirmed tells whether the channel has confirmed the last tap to the
	// platform; Redeliver lets the platform bring it again.
	Confirmed func() bool
	Redeliver func(t *testing.T)
	// Told waits until a person was told a text privately.
	Told func(t *testing.T, who, text string)
	// Payloads are shapes that the platform sends, for Decode.
	Payloads []json.RawMessage
}

// Seen is a message as a person sees it.
type Seen struct {
	// Text is what can be read.
	Text string
	// Buttons in order; a Token is empty where nobody can look at it.
	Buttons []bot.Button
	// Active is what does something when it is tapped, apart from buttons: links,
	// mentions, commands.
	Active []string
}

// Fault is a way for one call to go wrong.
type Fault int

const (
	// RateLimited is refused as one of too many; it may come again after Pause.
	RateLimited Fault = iota
	// Broken gets an answer that is none of the platform's own.
	Broken
	// Lost is done, and its answer gets lost.
	Lost
)

// Pause is how long a RateLimited call has to wait.
const Pause = 7 * time.Second

// patience bounds each wait.
const patience = time.Minute

// Run runs the suite; open makes a fresh Harness for each test of it.
func Run(t *testing.T, open func(t *testing.T) *Harness) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *Harness)
	}{
		{"says what it is", saysWhatItIs},
		{"shows a card", showsACard},
		{"edits a card", editsACard},
		{"shows a message", showsAMessage},
		{"shows what the limits allow", showsWhatTheLimitsAllow},
		{"marks what it cuts", marksWhatItCuts},
		{"nobody approves unseen", nobodyApprovesUnseen},
		{"caller text is inert", callerTextIsInert},
		{"lists requests", listsRequests},
		{"quotes are whole and inert", quotesAreWholeAndInert},
		{"people who cannot be reached", peopleWhoCannotBeReached},
		{"messages that are gone", messagesThatAreGone},
		{"references of others", referencesOfOthers},
		{"rate limits", rateLimits},
		{"a broken platform", aBrokenPlatform},
		{"a lost answer", aLostAnswer},
		{"a set-up that was taken away", aSetUpThatWasTakenAway},
		{"sends at the same time", sendsAtTheSameTime},
		{"a call that is broken off", aCallThatIsBrokenOff},
		{"taps", taps},
		{"nothing is confirmed before it is stored", storesBeforeItConfirms},
		{"what comes twice", whatComesTwice},
		{"decodes anything", decodesAnything},
		{"answers anything", answersAnything},
		{"stops with its context", stopsWithItsContext},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// Labels of the buttons of Card; channels without buttons have keys for them.
const (
	Approve = bot.LabelApproveCall
	Reject  = bot.LabelReject
)

// Tokens as long as they get, of all characters that they have.
const (
	approveToken = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	rejectToken  = "l._-_-.x"
)

// Card is an open card with two buttons.
func Card() bot.Card {
	return bot.Card{
		Head: "Approval needed · #7",
		Facts: []bot.Fact{
			{Label: "From", Value: "Bea via agent main"}, {Label: "Tool", Value: "shop_refund", Code: true},
			{Label: "Agent says", Value: "all is well", Quote: true},
		},
		Args:  []bot.Arg{{Name: "amount", Value: "12"}, {Name: "note", Value: "for the broken lamp"}},
		Notes: []string{"Approving runs the waiting call at once."},
		Buttons: [][]bot.Button{
			{{Label: Approve, Token: approveToken, Style: bot.Primary}},
			{{Label: Reject, Token: rejectToken, Style: bot.Danger}},
		},
	}
}

// closed is what became of it.
func closed() bot.Card {
	c := Card()
	c.Head, c.Notes, c.Buttons = "Approved · #7", []string{"Olga approved it."}, nil
	return c
}
