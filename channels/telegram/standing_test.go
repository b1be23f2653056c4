package telegram_test

import (
	"strconv"
	"testing"

	"holm/bot"
	"holm/internal/testkit/telegramfake"
)

func TestBlockingAndComingBack(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitPoll()
	group := s.tg.Group("team", s.owner)
	s.owner.Block()
	said := s.owner.Say("hello again")
	group.KickBot(s.owner)
	s.tg.Settle()
	var kinds []bot.EventKind
	for _, raw := range s.inbox.inOrder(t) {
		if ev, ok, err := s.channel.Decode(raw); err != nil {
			t.Error(err)
		} else if ok {
			kinds = append(kinds, ev.Kind)
			if ev.Identity != id(s.owner) || !ev.Direct {
				t.Errorf("decoded %+v", ev)
			}
		}
	}
	if len(kinds) != 3 || kinds[0] != bot.Left || kinds[1] != bot.Joined || kinds[2] != bot.Text {
		t.Errorf("decoded %v; the text was update %s", kinds, strconv.FormatInt(said.UpdateID, 10))
	}
}
