package slack_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

// tapped is a tap of ann's on a card, and ann.
func tapped(t *testing.T, s *setup) (bot.Event, *slackfake.Person) {
	t.Helper()
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.Click("Reject").Acked()
	events := s.inbox.wait(t, s.Channel, 1)
	return events[len(events)-1], ann
}

func anyView(slackfake.View) bool { return true }

var question = bot.Question{Title: "Reject request #7", Text: "Why <!here>?", Token: "tok-question"}

func TestQuestion(t *testing.T) {
	for name, start := range map[string]func(*testing.T, slackfake.Options) *setup{"socket": connected, "http": called} {
		t.Run(name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			tap, ann := tapped(t, s)
			if _, err := s.Ask(t.Context(), tap, question); err != nil {
				t.Fatal(err)
			}
			v := ann.WaitModal("the question", anyView)
			if v.Title != question.Title || !strings.Contains(v.Shown(), "Why <!here>?") || v.PrivateMetadata != question.Token {
				t.Errorf("view %+v", v)
			}
			ann.Submit(map[string]string{"Reason": "the lamp is ours"}).Acked()
			ann.WaitNoModal()
			want := bot.Event{Kind: bot.Reply, Identity: ann.Identity(), Name: "ann", Direct: true, Token: question.Token, Text: "the lamp is ours"}
			got := s.inbox.wait(t, s.Channel, 2)[1]
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(bot.Event{}, "Reply")); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClosedQuestion(t *testing.T) {
	s := connected(t, slackfake.Options{})
	tap, ann := tapped(t, s)
	if _, err := s.Ask(t.Context(), tap, question); err != nil {
		t.Fatal(err)
	}
	ann.CloseView().Acked()
	got := s.inbox.wait(t, s.Channel, 2)[1]
	if got.Kind != bot.Closed || got.Token != question.Token || got.Identity != ann.Identity() {
		t.Errorf("event %+v", got)
	}
}

// Fault 29: a trigger works once and for 3 s.
func TestTapThatIsTooOldForAForm(t *testing.T) {
	s := connected(t, slackfake.Options{})
	tap, ann := tapped(t, s)
	if _, err := s.Ask(t.Context(), tap, question); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), tap, question); err == nil || !strings.Contains(err.Error(), "exchanged_trigger_id") {
		t.Errorf("a trigger worked twice: %v", err)
	}
	ann.Click("Reject").Acked()
	second := s.inbox.wait(t, s.Channel, 2)[1]
	s.fake.Inject(slackfake.Fault{Method: "views.open", Code: "expired_trigger_id"})
	if _, err := s.Ask(t.Context(), second, question); err == nil || errors.Is(err, bot.ErrSetup) {
		t.Errorf("an expired trigger: %v", err)
	}
	if _, err := s.Ask(t.Context(), bot.Event{Reply: tap.Reply[:1]}, question); err == nil {
		t.Error("a form was opened without a tap")
	}
	if h := s.Health(); h.Error != "" {
		t.Errorf("health %+v", h)
	}
}

// A form that cannot be stored stays open, with what was written.
func TestFormThatIsNotStoredStaysOpen(t *testing.T) {
	for name, start := range map[string]func(*testing.T, slackfake.Options) *setup{"socket": connected, "http": called} {
		t.Run(name, func(t *testing.T) {
			s := start(t, slackfake.Options{AckTimeout: 30 * time.Second})
			tap, ann := tapped(t, s)
			if _, err := s.Ask(t.Context(), tap, question); err != nil {
				t.Fatal(err)
			}
			s.inbox.beforeStore(func(context.Context, string) error { return errors.New("the database is down") })
			ann.Submit(map[string]string{"Reason": "no"}).Acked()
			v := ann.WaitModal("the remark", func(v slackfake.View) bool { return len(v.Errors) > 0 })
			for _, remark := range v.Errors {
				if !strings.Contains(remark, "nothing was done") {
					t.Errorf("remark %q", remark)
				}
			}
			s.inbox.beforeStore(nil)
			ann.Submit(map[string]string{"Reason": "no"}).Acked()
			ann.WaitNoModal()
			s.inbox.wait(t, s.Channel, 2)
		})
	}
}

func reviewForm(args ...bot.Arg) bot.Form {
	c := card()
	c.Args, c.Buttons = args, nil
	return bot.Form{Title: "Review request #7", Card: c, Choices: []bot.Button{
		{Label: "Approve this call", Token: "tok-approve"}, {Label: "Reject", Token: "tok-reject"},
	}}
}

func TestReviewShowsEverything(t *testing.T) {
	s := connected(t, slackfake.Options{})
	tap, ann := tapped(t, s)
	long := strings.Repeat("wörter <&> 😀\n", 1500) + "the very end"
	f := reviewForm(bot.Arg{Name: "text", Value: long}, bot.Arg{Name: "amount", Value: "12"})
	if !s.Holds(f.Card) {
		t.Fatal("the form does not hold the card")
	}
	if err := s.Review(t.Context(), tap, f); err != nil {
		t.Fatal(err)
	}
	v := ann.WaitModal("the form", anyView)
	shown := v.Shown()
	for _, want := range []string{"the very end", "\namount: 12\n", "shop/refund", "Approving runs the waiting call at once."} {
		if !strings.Contains(shown, want) {
			t.Errorf("the form lacks %q", want)
		}
	}
	if n := strings.Count(shown, "wörter <&> 😀"); n != 1500 {
		t.Errorf("%d lines of 1500 are shown", n)
	}
	if strings.Contains(shown, "\nwörter") {
		t.Error("a part of a value looks like a line of its own")
	}
	ann.Submit(map[string]string{"Decision": "Approve this call", "Reason, passed on to the requester": "fine"}).Acked()
	got := s.inbox.wait(t, s.Channel, 2)[1]
	if got.Kind != bot.Tap || got.Token != "tok-approve" || got.Text != "fine" || got.Identity != ann.Identity() {
		t.Errorf("event %+v", got)
	}
	if err := s.Answer(t.Context(), got, "Approved."); err != nil {
		t.Fatal(err)
	}
	if lines := ann.WaitEphemerals(1); lines[0].Shown() != "Approved." {
		t.Errorf("ann saw %+v", lines)
	}
}

func TestFormHoldsOnlyWhatFits(t *testing.T) {
	s := connected(t, slackfake.Options{})
	for name, tt := range map[string]struct {
		arg  bot.Arg
		want bool
	}{
		"200,000 characters": {bot.Arg{Name: "a", Value: strings.Repeat("x", 200_000)}, true},
		"300,000 characters": {bot.Arg{Name: "a", Value: strings.Repeat("x", 300_000)}, false},
		"many escapes":       {bot.Arg{Name: "a", Value: strings.Repeat("<", 200_000)}, false},
		"long name":          {bot.Arg{Name: strings.Repeat("n", 10_000), Value: "x"}, true},
		"cut before":         {bot.Arg{Name: "a", Value: "x", Cut: 1}, false},
		"empty":              {bot.Arg{}, true},
	} {
		f := reviewForm(tt.arg)
		if got := s.Holds(f.Card); got != tt.want {
			t.Errorf("%s: holds %v", name, got)
		}
		if !tt.want {
			continue
		}
		ann := s.fake.Person("ann")
		before := len(s.inbox.events(t, s.Channel))
		mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
		ann.Click("Reject").Acked()
		tap := s.inbox.wait(t, s.Channel, before+1)[before]
		if err := s.Review(t.Context(), tap, f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFormWithManyChoices: more than Slack shows at once come as a list.
func TestFormWithManyChoices(t *testing.T) {
	for n, kind := range map[int]string{10: "radio_buttons", 11: "static_select", 20: "static_select"} {
		s := connected(t, slackfake.Options{})
		tap, ann := tapped(t, s)
		f := reviewForm(bot.Arg{Name: "a", Value: "x"})
		f.Choices = nil
		for i := range n {
			f.Choices = append(f.Choices, bot.Button{Label: fmt.Sprintf("Choice %d", i), Token: fmt.Sprintf("tok-%d", i)})
		}
		if err := s.Review(t.Context(), tap, f); err != nil {
			t.Fatalf("%d choices: %v", n, err)
		}
		v := ann.WaitModal("the form", anyView)
		if raw := fmt.Sprintf("%s", v.Blocks); !strings.Contains(raw, kind) {
			t.Errorf("%d choices are not %s", n, kind)
		}
		ann.Submit(map[string]string{"Decision": fmt.Sprintf("Choice %d", n-1)}).Acked()
		if got := s.inbox.wait(t, s.Channel, 2)[1]; got.Kind != bot.Tap || got.Token != fmt.Sprintf("tok-%d", n-1) {
			t.Errorf("%d choices: event %+v", n, got)
		}
	}
}
