//go:build unix

package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/bot"
	"holm/channels/slack"
	"holm/channels/telegram"
	"holm/internal/testkit/slackfake"
	"holm/internal/testkit/telegramfake"
)

// soon bounds what people wait for here.
const soon = 5 * time.Minute

// telegramChats are people on Telegram, polled for.
type telegramChats struct {
	fake   *telegramfake.Server
	ch     *telegram.Channel
	people []*telegramfake.Person
	cards  []telegramfake.Message
	taps   []telegramfake.Tap
	late   *telegramfake.Injected
}

func onTelegram(b *testing.B) platform {
	b.Helper()
	fake := telegramfake.New(b, telegramfake.Options{Patience: soon, QueryLife: soon})
	ch, err := telegram.New(telegram.Config{Token: fake.Token(), APIURL: fake.URL()})
	must(b, err)
	return &telegramChats{fake: fake, ch: ch}
}

func (t *telegramChats) channel() bot.Channel { return t.ch }

func (t *telegramChats) person() string {
	p := t.fake.Person(fmt.Sprintf("Owner %d", len(t.people))).Open()
	t.people = append(t.people, p)
	t.cards, t.taps = append(t.cards, telegramfake.Message{}), append(t.taps, telegramfake.Tap{})
	return strconv.FormatInt(p.ID, 10)
}

func (t *telegramChats) card(i int, r approvals.Request) {
	head := fmt.Sprintf("#%d", r.ShortID)
	t.cards[i] = t.fake.WaitMessage(t.people[i].ID, func(m telegramfake.Message) bool {
		_, open := m.Button(bot.LabelApproveCall)
		first, _, _ := strings.Cut(m.Text, "\n")
		return open && slices.Contains(strings.FieldsFunc(first, isNoNumber), head)
	})
}

// isNoNumber parts the numbers of requests from the words around them.
func isNoNumber(r rune) bool { return r != '#' && (r < '0' || r > '9') }

func (t *telegramChats) tap(i int) { t.taps[i] = t.people[i].Click(t.cards[i], bot.LabelApproveCall) }

func (t *telegramChats) seen(i int) (handed, answered, edited time.Time) {
	card := t.cards[i]
	t.fake.WaitMessage(card.Chat, func(m telegramfake.Message) bool { return m.ID == card.ID && len(m.Buttons) == 0 })
	edit := t.fake.WaitCall("editMessageText", func(c telegramfake.Call) bool {
		return c.Params["message_id"] == strconv.FormatInt(card.ID, 10) && c.Params["chat_id"] == strconv.FormatInt(card.Chat, 10)
	})
	return t.fake.HandedOut(t.taps[i].UpdateID), t.fake.WaitAnswer(t.taps[i]).At, edit.At
}

func (t *telegramChats) slow() {
	t.late = t.fake.Inject(telegramfake.Fault{Method: "sendMessage", Times: -1, Delay: slowness})
}

func (t *telegramChats) quick() {
	if t.late != nil {
		t.late.Lift()
	}
}

// slackChats are people on Slack, behind a socket.
type slackChats struct {
	fake   *slackfake.Server
	ch     *slack.Channel
	people []*slackfake.Person
	cards  []slackfake.Message
	taps   []*slackfake.Sent
	tapped []time.Time
}

func onSlack(b *testing.B) platform {
	b.Helper()
	fake := slackfake.New(b, slackfake.Options{AckTimeout: soon})
	ch, err := slack.New(slack.Config{BotToken: fake.App(0).BotToken, AppToken: fake.App(0).AppToken, APIURL: fake.APIURL()})
	must(b, err)
	return &slackChats{fake: fake, ch: ch}
}

func (s *slackChats) channel() bot.Channel { return s.ch }

func (s *slackChats) person() string {
	p := s.fake.Person(fmt.Sprintf("owner-%d", len(s.people)))
	s.people = append(s.people, p)
	s.cards, s.taps, s.tapped = append(s.cards, slackfake.Message{}), append(s.taps, nil), append(s.tapped, time.Time{})
	return p.Identity()
}

func (s *slackChats) card(i int, r approvals.Request) {
	head := fmt.Sprintf("#%d", r.ShortID)
	s.cards[i] = s.people[i].WaitMessage("the card "+head, func(m slackfake.Message) bool {
		first, _, _ := strings.Cut(m.Shown(), "\n")
		return len(m.Buttons()) > 0 && slices.Contains(strings.FieldsFunc(first, isNoNumber), head)
	})
}

func (s *slackChats) tap(i int) {
	s.tapped[i] = time.Now()
	s.taps[i] = s.people[i].ClickIn(s.cards[i], bot.LabelApproveCall)
}

func (s *slackChats) seen(i int) (handed, answered, edited time.Time) {
	card := s.cards[i]
	s.people[i].WaitMessage("the card without buttons", func(m slackfake.Message) bool { return m.TS == card.TS && len(m.Buttons()) == 0 })
	edited = s.called("chat.update", func(c slackfake.Call) bool { return c.Params["ts"] == card.TS })
	answered = s.called("chat.postEphemeral", func(c slackfake.Call) bool {
		return c.Params["user"] == s.people[i].ID() && c.Time.After(s.tapped[i])
	})
	return s.taps[i].Deliveries()[0].Sent, answered, edited
}

// called waits for the first call of a method that fits.
func (s *slackChats) called(method string, fits func(slackfake.Call) bool) time.Time {
	for n := 1; ; n++ {
		calls := s.fake.WaitCalls(method, n)
		if at := slices.IndexFunc(calls, fits); at >= 0 {
			return calls[at].Time
		}
		n = len(calls)
	}
}

func (s *slackChats) slow() {
	s.fake.Inject(slackfake.Fault{Method: "chat.postMessage", Times: further * chats, Delay: slowness})
}

func (s *slackChats) quick() {}
