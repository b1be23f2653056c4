package discord_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holm/bot"
	"holm/internal/testkit/discordfake"
)

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestCardAndItsClosing(t *testing.T) {
	s := idle(t, discordfake.Options{})
	ref, m := s.send(t, card())
	contains(t, m.Shown(), "Approval needed: shop/refund", "Requester: Bea via agent main", "“all is well”", "amount: 12", "note: for the broken lamp", "at once.")
	if len(m.Buttons) != 2 || m.Buttons[0].CustomID != "tok-approve" || m.Buttons[0].Style != 1 || m.Buttons[1].Style != 4 || m.Silent {
		t.Errorf("got %+v", m)
	}
	closed := card()
	closed.Head, closed.Buttons = "Approved", nil
	for range 2 { // what the message shows already is success
		if err := s.Update(t.Context(), ref, closed); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.ann.Messages()[0]; len(m.Buttons) > 0 || !strings.Contains(m.Shown(), "Approved") {
		t.Errorf("got %+v", m)
	}
	if err := s.Update(t.Context(), ref, bot.Card{Head: "Over"}); err != nil {
		t.Fatal(err)
	}
	if m := s.ann.Messages()[0]; strings.TrimSpace(m.Shown()) != "Over" {
		t.Errorf("the embed is still there: %q", m.Shown())
	}
}

func TestReplyGoesWhereTheMessageIsAndButtonsStayDirect(t *testing.T) {
	s := idle(t, discordfake.Options{})
	room := s.fake.Room()
	said := s.ann.WriteIn(room, discordfake.Mention+" help")
	to := s.to()
	to.ReplyTo = bot.MessageRef{Chat: room, Message: said.ID}
	ref, err := s.Send(t.Context(), to, bot.Card{Head: "here"})
	if err != nil || ref.Chat != room || s.fake.In(room)[0].ReplyTo != said.ID {
		t.Fatalf("got %+v, %v", ref, err)
	}
	if ref, err := s.Send(t.Context(), to, card()); err != nil || ref.Chat != s.ann.Chat() {
		t.Errorf("a card with buttons went to %+v, %v", ref, err)
	}
	s.fake.CloseRoom(room)
	if ref, err := s.Send(t.Context(), to, bot.Card{Head: "there"}); err != nil || ref.Chat != s.ann.Chat() {
		t.Errorf("a reply that may not be written went to %+v, %v", ref, err)
	}
}

func TestSilentCardsDoNotRing(t *testing.T) {
	s := idle(t, discordfake.Options{})
	quiet := card()
	quiet.Silent = true
	if _, m := s.send(t, quiet); !m.Silent {
		t.Error("it rings")
	}
}

func TestDirectChatIsOpenedOnceAndAnewWhenItIsGone(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.send(t, bot.Card{Head: "one"})
	s.send(t, bot.Card{Head: "two"})
	if n := len(s.fake.Calls("POST", "/users/@me/channels")); n != 1 {
		t.Errorf("opened %d times", n)
	}
	s.ann.MoveDirect()
	s.send(t, bot.Card{Head: "three"})
}

// A card whose answer was lost is posted again and comes once.
func TestCardWhoseAnswerWasLostComesOnce(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.fake.Inject(discordfake.Fault{Method: "POST", Path: "/messages", PerformFirst: true})
	if _, err := s.Send(t.Context(), s.to(), card()); err == nil || errors.Is(err, bot.ErrUnreachable) {
		t.Fatalf("got %v, want a transient error", err)
	}
	s.send(t, card())
	if n := len(s.ann.Messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
	other := card()
	other.Buttons[0][0].Token = "tok-of-another"
	s.send(t, other)
	s.send(t, bot.Card{Head: "a word"})
	s.send(t, bot.Card{Head: "a word"}) // words may be said twice
	if n := len(s.ann.Messages()); n != 4 {
		t.Errorf("%d messages, want 4", n)
	}
}

func TestFailuresOfADelivery(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault discordfake.Fault
		want  error
	}{
		{"refused by the person", discordfake.Fault{Status: 403, Code: 50007}, bot.ErrUnreachable},
		{"no mutual server", discordfake.Fault{Status: 403, Code: 50278}, bot.ErrUnreachable},
		{"missing access", discordfake.Fault{Status: 403, Code: 50001}, bot.ErrUnreachable},
		{"missing permission", discordfake.Fault{Status: 403, Code: 50013}, bot.ErrUnreachable},
		{"token", discordfake.Fault{Status: 401}, bot.ErrSetup},
		{"page of a proxy", discordfake.Fault{Status: 403}, nil},
		{"fault of Discord", discordfake.Fault{Status: 500, Code: 0}, nil},
		{"overload", discordfake.Fault{Status: 503, Code: 130000}, nil},
		{"silence", discordfake.Fault{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := idle(t, discordfake.Options{})
			c.fault.Method, c.fault.Path = "POST", "/messages"
			s.fake.Inject(c.fault)
			_, err := s.Send(t.Context(), s.to(), card())
			is := errors.Is(err, bot.ErrUnreachable) || errors.Is(err, bot.ErrGone) || errors.Is(err, bot.ErrSetup)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && is {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), s.fake.Token()) {
				t.Errorf("the token is in %v", err)
			}
			s.send(t, card())
		})
	}
}

func TestPeopleWhoCannotBeWrittenTo(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.ann.CloseDirect()
	for _, identity := range []string{s.ann.Identity(), "1234", "0", "@ann", "12/../34", ""} {
		if _, err := s.Send(t.Context(), bot.Recipient{Identity: identity}, card()); !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("%q: %v", identity, err)
		}
		if err := s.SendFile(t.Context(), bot.Recipient{Identity: identity}, "a.txt", []byte("x"), ""); !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("file for %q: %v", identity, err)
		}
	}
}

func TestEditsThatFail(t *testing.T) {
	s := idle(t, discordfake.Options{})
	ref, m := s.send(t, card())
	s.fake.Delete(m.ID)
	for name, ref := range map[string]bot.MessageRef{
		"deleted": ref, "no chat": {Chat: "1234", Message: "5"}, "none": {}, "another platform's": {Chat: "C01", Message: "1.2"},
		"a path": {Chat: "1/../2", Message: "3"},
	} {
		if err := s.Update(t.Context(), ref, card()); !errors.Is(err, bot.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.fake.Inject(discordfake.Fault{Method: "PATCH", Status: 400, Code: 30046})
	_, m = s.send(t, card())
	var busy *bot.RetryError
	if err := s.Update(t.Context(), bot.MessageRef{Chat: m.Channel, Message: m.ID}, card()); !errors.As(err, &busy) || busy.After <= 0 {
		t.Errorf("too many edits of an old message: %v", err)
	}
}

func TestRefusedLayoutIsSentPlain(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.fake.Inject(discordfake.Fault{Method: "POST", Path: "/messages", Status: 400, Code: 50035})
	_, m := s.send(t, card())
	contains(t, m.Shown(), "Approval needed", "amount: 12")
	if m.Description != "" || len(m.Buttons) != 2 {
		t.Errorf("got %+v", m)
	}
}

// A plain form that has no room for all arguments offers no approval of them.
func TestThePlainFormApprovesNothingUnseen(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.fake.Inject(discordfake.Fault{Method: "POST", Path: "/messages", Status: 400, Code: 50035})
	c := card()
	c.Args = []bot.Arg{{Name: "body", Value: strings.Repeat("x", 2500)}}
	c.Whole, c.Buttons[0][0].Approves = true, true
	if !s.Shows(c) {
		t.Fatal("a message has no room")
	}
	if _, m := s.send(t, c); len(m.Buttons) != 1 || m.Buttons[0].Label == c.Buttons[0][0].Label {
		t.Errorf("got %+v", m)
	}
}

func TestRateLimitHoldsForItsRouteAlone(t *testing.T) {
	s := idle(t, discordfake.Options{})
	bea := s.fake.Person("Bea")
	ref, _ := s.send(t, card())
	s.fake.Inject(discordfake.Fault{Method: "POST", Path: "/messages", RetryAfter: time.Hour})
	for range 2 { // the second is held back here
		var busy *bot.RetryError
		if _, err := s.Send(t.Context(), s.to(), card()); !errors.As(err, &busy) || busy.After < 50*time.Minute {
			t.Fatalf("got %v", err)
		}
	}
	if n := len(s.fake.Calls("POST", "/channels/"+s.ann.Chat()+"/messages")); n != 2 {
		t.Errorf("%d calls", n)
	}
	if err := s.Update(t.Context(), ref, card()); err != nil {
		t.Errorf("an edit: %v", err)
	}
	if _, err := s.Send(t.Context(), bot.Recipient{Identity: bea.Identity()}, card()); err != nil {
		t.Errorf("another person: %v", err)
	}
	s.fake.Inject(discordfake.Fault{Method: "PATCH", RetryAfter: time.Hour, Global: true})
	var busy *bot.RetryError
	if err := s.Update(t.Context(), ref, card()); !errors.As(err, &busy) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Send(t.Context(), bot.Recipient{Identity: bea.Identity()}, card()); !errors.As(err, &busy) {
		t.Errorf("the limit over all is not obeyed: %v", err)
	}
}

// A proxy's 429 has no JSON and no time.
func TestRateLimitOfAProxy(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.fake.Inject(discordfake.Fault{Method: "POST", Path: "/messages", Status: 429})
	var busy *bot.RetryError
	if _, err := s.Send(t.Context(), s.to(), card()); !errors.As(err, &busy) || busy.After <= 0 {
		t.Errorf("got %v", err)
	}
}

func TestFloodIsHeldBackBeforeDiscordDoesAndDecisionsGoFirst(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.fake.Limit(3, time.Hour)
	var busy *bot.RetryError
	for i := range 2 {
		if _, err := s.Send(t.Context(), s.to(), bot.Card{Head: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Send(t.Context(), s.to(), bot.Card{Head: "one too many"}); !errors.As(err, &busy) {
		t.Errorf("talk took the last call: %v", err)
	}
	if _, err := s.Send(t.Context(), s.to(), card()); err != nil {
		t.Errorf("a card found no room: %v", err)
	}
	if _, err := s.Send(t.Context(), s.to(), card()); !errors.As(err, &busy) {
		t.Errorf("got %v", err)
	}
	if n := s.fake.Limited(); n != 0 {
		t.Errorf("%d calls ran into the limit", n)
	}
}

func TestFile(t *testing.T) {
	s := idle(t, discordfake.Options{})
	ref, _ := s.send(t, card())
	to := s.to()
	to.ReplyTo = ref
	if err := s.SendFile(t.Context(), to, "../a\u202eb.json", []byte("whole"), "All of *it*"); err != nil {
		t.Fatal(err)
	}
	m := s.ann.Messages()[1]
	if len(m.Files) != 1 || string(m.Files[0].Data) != "whole" || m.Files[0].Name != "aU+202Eb.json" || m.ReplyTo != ref.Message || strings.TrimSpace(m.Shown()) != "All of *it*" {
		t.Errorf("got %+v", m)
	}
	for _, data := range [][]byte{nil, make([]byte, 10<<20+1)} {
		if err := s.SendFile(t.Context(), to, "a", data, ""); err == nil {
			t.Errorf("%d bytes were taken", len(data))
		}
	}
}
