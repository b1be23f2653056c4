package slack_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

func TestPage(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	ann.OpenHome().Acked()
	opened := s.inbox.wait(t, s.Channel, 1)[0]
	if opened.Kind != bot.Opened || opened.Identity != ann.Identity() {
		t.Fatalf("event %+v", opened)
	}
	second := card()
	second.Head, second.Buttons = "Another one", [][]bot.Button{{{Label: "Say yes", Token: "tok-yes"}}}
	page := bot.Page{Head: "Waiting: 2", Cards: []bot.Card{card(), second}, Notes: []string{"You asked <!here> for nothing."}}
	if err := s.ShowHome(t.Context(), ann.Identity(), page); err != nil {
		t.Fatal(err)
	}
	v := ann.WaitHome("the cards", func(v slackfake.View) bool { return len(v.Buttons()) == 3 })
	for _, want := range []string{"Waiting: 2", "amount: 12\nnote: for the broken lamp", "Another one", "<!here>"} {
		if !strings.Contains(v.Shown(), want) {
			t.Errorf("the page lacks %q:\n%s", want, v.Shown())
		}
	}
	ann.ClickHome("Say yes").Acked()
	tap := s.inbox.wait(t, s.Channel, 2)[1]
	if tap.Kind != bot.Tap || tap.Token != "tok-yes" || tap.Identity != ann.Identity() || tap.Message != (bot.MessageRef{}) {
		t.Errorf("tap %+v", tap)
	}
	if err := s.Answer(t.Context(), tap, "Done."); err != nil {
		t.Fatal(err)
	}
	if lines := ann.WaitEphemerals(1); lines[0].Shown() != "Done." || lines[0].Channel != ann.Chat() {
		t.Errorf("ann saw %+v", lines)
	}
}

func TestLongestPageFits(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	long := strings.Repeat("wörter <&> 😀 ", 2000)
	big := bot.Card{
		Head: long, Facts: many(20, func(int) bot.Fact { return bot.Fact{Label: long, Value: long} }),
		Args:  many(60, func(i int) bot.Arg { return bot.Arg{Name: fmt.Sprint(i), Value: long} }),
		Notes: many(20, func(int) string { return long }),
		Buttons: many(3, func(int) []bot.Button {
			return many(5, func(int) bot.Button { return bot.Button{Label: long, Token: "t"} })
		}),
	}
	page := bot.Page{Head: long, Cards: many(30, func(int) bot.Card { return big }), Notes: many(20, func(int) string { return long })}
	if err := s.ShowHome(t.Context(), ann.Identity(), page); err != nil {
		t.Fatal(err)
	}
	if err := s.ShowHome(t.Context(), ann.Identity(), bot.Page{Head: "h"}); err != nil {
		t.Fatal(err)
	}
}

func TestPageThatCannotBeShown(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	s.fake.DisableHome(0)
	if err := s.ShowHome(t.Context(), ann.Identity(), bot.Page{Head: "h"}); !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("without a page: %v", err)
	}
	if err := s.ShowHome(t.Context(), "T0OTHER/"+ann.ID(), bot.Page{Head: "h"}); !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("in another workspace: %v", err)
	}
}
