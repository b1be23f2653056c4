package telegram_test

import (
	"testing"

	"holm/bot"
	"holm/internal/testkit/telegramfake"
)

// Fault 26 of the platform: a forced reply taken by the wrong person, or by the
// next message that has nothing to do with it.
func TestFault26AnswersAreBoundToTheirQuestion(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnanswered: true})
	s.run(s.channel)
	s.tg.WaitPoll()
	card := s.send(card())
	tap := s.owner.Click(card, "Reject")
	s.tg.WaitConfirmed(tap.UpdateID)
	ref, err := s.channel.Ask(t.Context(), s.decode(tap.UpdateID), bot.Question{Title: "Reject request #7", Text: "Why <b>not</b>?", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	asked := s.message(ref)
	if asked.Text != "Why <b>not</b>?" || !asked.ForceReply || asked.ReplyTo != card.ID {
		t.Errorf("asked %+v", asked)
	}
	for _, c := range []struct {
		said telegramfake.Said
		want bot.MessageRef
		text string
	}{
		{s.owner.Reply(asked, "too early"), ref, "too early"},
		{s.owner.Reply(asked, "/approve 7"), ref, "approve 7"},
		{s.owner.Reply(card, "to the card"), s.ref(card), "to the card"},
		{s.owner.Say("besides"), bot.MessageRef{}, "besides"},
	} {
		s.tg.WaitConfirmed(c.said.UpdateID)
		if ev := s.decode(c.said.UpdateID); ev.ReplyTo != c.want || ev.Text != c.text || !ev.Direct {
			t.Errorf("%q became %+v", c.text, ev)
		}
	}
}
