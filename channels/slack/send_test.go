package slack_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

func TestCardAndItsClosing(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	if ref.Chat != ann.Chat() {
		t.Errorf("sent to %s, not to the direct chat %s", ref.Chat, ann.Chat())
	}
	open := ann.Messages()[0]
	wantText := strings.Join([]string{
		"Approval needed: shop/refund", "Requester: Bea via agent main", "Agent says: “all is well”",
		"amount: 12", "note: for the broken lamp", "Approving runs the waiting call at once.",
	}, "\n")
	if diff := cmp.Diff(wantText, open.Shown()); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	if b := open.Buttons(); len(b) != 2 || b[0].Value != "tok-approve" || b[0].Style != "primary" || b[1].Style != "danger" {
		t.Errorf("buttons %+v", b)
	}

	closed := card()
	closed.Buttons, closed.Notes = nil, []string{"Approved once by Ann."}
	for range 2 { // the second time changes nothing and is no error
		if err := s.Update(t.Context(), ref, closed); err != nil {
			t.Fatal(err)
		}
	}
	now := ann.Messages()[0]
	if len(now.Buttons()) != 0 || !strings.HasSuffix(now.Shown(), "\nApproved once by Ann.") {
		t.Errorf("closed card shows %q with %d buttons", now.Shown(), len(now.Buttons()))
	}
}

func TestCallerTextIsInert(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	hostile := "<https://evil.example|Approve> <!channel> *bold* &amp;\nWhy: rule 7\u202egnp.exe"
	c := bot.Card{
		Head: hostile, Facts: []bot.Fact{{Label: hostile, Value: hostile}}, Args: []bot.Arg{{Name: hostile, Value: hostile}},
		Notes: []string{hostile}, Buttons: [][]bot.Button{{{Label: "Go", Token: "t"}}},
	}
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, c)
	m := ann.Messages()[0]
	for _, block := range m.Blocks {
		if strings.Contains(string(block), "mrkdwn") {
			t.Errorf("a block with markup: %s", block)
		}
	}
	shown := m.Shown()
	if strings.Contains(shown, "\u202e") || !strings.Contains(shown, "U+202E") {
		t.Errorf("the bidi mark is not spelled out in %q", shown)
	}
	if strings.Contains(shown, "\nWhy: rule 7") {
		t.Errorf("a value made a line of its own: %q", shown)
	}
	call := s.fake.Calls("chat.postMessage")[0].Params
	if strings.ContainsAny(call["text"], "<>") {
		t.Errorf("the notification carries markup: %q", call["text"])
	}
	if call["unfurl_links"] != "false" || call["unfurl_media"] != "false" {
		t.Errorf("links are unfurled: %v", call)
	}
}

func TestFailuresHaveAKind(t *testing.T) {
	kinds := map[string]error{
		"user_not_found": bot.ErrUnreachable, "cannot_dm_bot": bot.ErrUnreachable, "user_disabled": bot.ErrUnreachable,
		"channel_not_found": bot.ErrUnreachable, "is_archived": bot.ErrUnreachable, "messages_tab_disabled": bot.ErrUnreachable,
		"not_in_channel": bot.ErrUnreachable, "message_not_found": bot.ErrGone, "cant_update_message": bot.ErrGone,
		"edit_window_closed": bot.ErrGone, "invalid_auth": bot.ErrSetup, "account_inactive": bot.ErrSetup,
		"token_revoked": bot.ErrSetup, "missing_scope": bot.ErrSetup, "not_allowed_token_type": bot.ErrSetup,
	}
	s := idle(t, slackfake.Options{})
	for code, want := range kinds {
		ann := s.fake.Person("ann")
		s.fake.Inject(slackfake.Fault{Method: "conversations.open", Code: code})
		_, err := s.Send(t.Context(), bot.Recipient{Identity: ann.Identity()}, card())
		if !errors.Is(err, want) {
			t.Errorf("Send with %s: %v", code, err)
		}
		s.fake.Inject(slackfake.Fault{Method: "chat.update", Code: code})
		if err := s.Update(t.Context(), bot.MessageRef{Chat: ann.Chat(), Message: "1.000001"}, card()); !errors.Is(err, want) {
			t.Errorf("Update with %s: %v", code, err)
		}
	}
}

func TestTransientFailuresHaveNoKind(t *testing.T) {
	faults := map[string]slackfake.Fault{
		"HTML":        {Status: 502, HTML: "<html>bad gateway</html>"},
		"page as 200": {Status: 200, HTML: "<html>maintenance</html>"},
		"hang-up":     {Drop: true},
		"half":        {Truncate: true},
		"own trouble": {Code: "internal_error"},
		"429 unnamed": {Status: 429},
		"lost answer": {PerformFirst: true},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			s := idle(t, slackfake.Options{})
			fault.Method = "chat.postMessage"
			s.fake.Inject(fault)
			_, err := s.Send(t.Context(), bot.Recipient{Identity: s.fake.Person("ann").Identity()}, card())
			var limited *bot.RetryError
			if err == nil || errors.Is(err, bot.ErrUnreachable) || errors.Is(err, bot.ErrGone) || errors.Is(err, bot.ErrSetup) || errors.As(err, &limited) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestRateLimitSaysWhenToComeAgain(t *testing.T) {
	s := idle(t, slackfake.Options{})
	s.fake.Inject(slackfake.Fault{Method: "chat.postMessage", RetryAfter: 240 * time.Second})
	_, err := s.Send(t.Context(), bot.Recipient{Identity: s.fake.Person("ann").Identity()}, card())
	var limited *bot.RetryError
	if !errors.As(err, &limited) || limited.After != 240*time.Second {
		t.Errorf("err = %v", err)
	}
}

func TestFloodIsHeldBackBeforeSlackDoes(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann, ben := s.fake.Person("ann"), s.fake.Person("ben")
	results := make(chan error, 20)
	for range 20 {
		go func() {
			_, err := s.Send(t.Context(), bot.Recipient{Identity: ann.Identity()}, bot.Card{Head: "tick"})
			results <- err
		}()
	}
	refused := 0
	for range 20 {
		err := <-results
		var limited *bot.RetryError
		switch {
		case errors.As(err, &limited) && limited.After > 0:
			refused++
		case err != nil:
			t.Error(err)
		}
	}
	if posted := len(ann.Messages()); refused == 0 || posted+refused != 20 {
		t.Errorf("of twenty messages at once %d were posted and %d held back", posted, refused)
	}
	mustSend(t, s.Channel, bot.Recipient{Identity: ben.Identity()}, bot.Card{Head: "another chat"})
}

// Fault 33: while Slack wants no message in a chat none is tried there, and
// other chats are served.
func TestRateLimitHoldsForItsChatAlone(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann, ben := s.fake.Person("ann"), s.fake.Person("ben")
	s.fake.Inject(slackfake.Fault{Method: "chat.postMessage", RetryAfter: 240 * time.Second})
	for range 3 {
		_, err := s.Send(t.Context(), bot.Recipient{Identity: ann.Identity()}, card())
		if limited, ok := errors.AsType[*bot.RetryError](err); !ok || limited.After > 240*time.Second {
			t.Errorf("err = %v", err)
		}
	}
	mustSend(t, s.Channel, bot.Recipient{Identity: ben.Identity()}, card())
	if calls := s.fake.Calls("chat.postMessage"); len(calls) != 2 {
		t.Errorf("%d calls of chat.postMessage, want one for each person", len(calls))
	}
}

// TestDecisionsGoFirst: chatter leaves room for what asks for a decision.
func TestDecisionsGoFirst(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	const chatter = 30
	results := make(chan error, chatter)
	for range chatter {
		go func() {
			_, err := s.Send(t.Context(), bot.Recipient{Identity: ann.Identity()}, bot.Card{Head: "tick"})
			results <- err
		}()
	}
	left := chatter
	for refused := 0; refused < 20; left-- { // by then all turns are taken
		if _, ok := errors.AsType[*bot.RetryError](<-results); ok {
			refused++
		}
	}
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	for range left {
		<-results
	}
}

func TestRefusedLayoutIsSentPlain(t *testing.T) {
	for _, code := range []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"} {
		t.Run(code, func(t *testing.T) {
			s := idle(t, slackfake.Options{})
			ann := s.fake.Person("ann")
			s.fake.Inject(slackfake.Fault{Method: "chat.postMessage", Code: code})
			ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
			m := ann.Messages()[0]
			if b := m.Buttons(); len(b) != 2 || b[0].Value != "tok-approve" || b[1].Value != "tok-reject" {
				t.Errorf("buttons %+v", b)
			}
			if shown := m.Shown(); !strings.Contains(shown, "amount: 12") || !strings.Contains(shown, "Approval needed") {
				t.Errorf("the plain card shows %q", shown)
			}
			s.fake.Inject(slackfake.Fault{Method: "chat.update", Code: code})
			if err := s.Update(t.Context(), ref, bot.Card{Head: "Closed"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A plain form that has no room for all arguments offers no approval of them.
func TestThePlainFormApprovesNothingUnseen(t *testing.T) {
	for _, size := range []int{100, 2_400} {
		s := idle(t, slackfake.Options{})
		ann := s.fake.Person("ann")
		s.fake.Inject(slackfake.Fault{Method: "chat.postMessage", Code: "invalid_blocks"})
		c := card()
		c.Args = []bot.Arg{{Name: "body", Value: strings.Repeat("x", size)}, {Name: "last", Value: strings.Repeat("y", size)}}
		c.Whole, c.Buttons[0][0].Approves = true, true
		if !s.Shows(c) {
			t.Fatal("a message has no room")
		}
		mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, c)
		m := ann.Messages()[0]
		whole := strings.Contains(m.Shown(), strings.Repeat("y", size))
		if got := m.Buttons()[0].Value == "tok-approve"; got != whole || whole != (size == 100) {
			t.Errorf("%d characters: whole %v, may be approved %v", size, whole, got)
		}
	}
}

func TestSomebodyOfAnotherWorkspace(t *testing.T) {
	s := idle(t, slackfake.Options{Apps: []slackfake.App{{Team: "T0ONE"}, {Team: "T0TWO"}}})
	ann, eve := s.fake.Person("ann"), s.fake.PersonOf(1, "eve")
	strangers := []string{
		eve.Identity(), "T0ONE/" + eve.ID(), "T0TWO/" + ann.ID(), // the last one's user id is known here
		ann.ID(), "", "T0ONE/", "/" + ann.ID(), "E0ORG/" + ann.ID(), "T0ONE/D01", "T0ONE/" + ann.ID() + "/x",
	}
	for _, identity := range strangers {
		_, err := s.Send(t.Context(), bot.Recipient{Identity: identity}, card())
		if !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("Send to %q: %v", identity, err)
		}
	}
	if calls := s.fake.Calls("chat.postMessage"); len(calls) != 0 {
		t.Errorf("%d messages were posted", len(calls))
	}
}

func TestDirectChatIsOpenedOnce(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	for range 3 {
		mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	}
	if calls := s.fake.Calls("conversations.open"); len(calls) != 1 {
		t.Errorf("%d calls of conversations.open", len(calls))
	}
	s.fake.Inject(slackfake.Fault{Method: "chat.postMessage", Code: "channel_not_found"})
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	if calls := s.fake.Calls("conversations.open"); len(calls) != 2 {
		t.Errorf("a chat that was gone was not opened anew")
	}
}

func TestPeopleWhoCannotBeWrittenTo(t *testing.T) {
	s := idle(t, slackfake.Options{})
	gone := s.fake.Person("gone")
	gone.Deactivate()
	bots := s.fake.App(0)
	for _, identity := range []string{gone.Identity(), bots.Team + "/" + bots.BotUser, bots.Team + "/U0NOBODY"} {
		if _, err := s.Send(t.Context(), bot.Recipient{Identity: identity}, card()); !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("Send to %s: %v", identity, err)
		}
	}
	s.fake.DisableMessagesTab(0)
	if _, err := s.Send(t.Context(), bot.Recipient{Identity: s.fake.Person("ann").Identity()}, card()); !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("without a messages tab: %v", err)
	}
}

func TestEditOfAMessageThatIsGone(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	for _, ref := range []bot.MessageRef{{}, {Chat: ann.Chat()}, {Chat: ann.Chat(), Message: "1.000001"}} {
		if err := s.Update(t.Context(), ref, card()); !errors.Is(err, bot.ErrGone) {
			t.Errorf("Update of %+v: %v", ref, err)
		}
	}
}

func TestReplyGoesWhereItBelongs(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	room := s.fake.Channel(0, "ops", ann)
	ann.Mention(room, "help").Acked()
	said := s.inbox.wait(t, s.Channel, 1)[0]

	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: said.Message}, bot.Card{Head: "Here is help"})
	if thread := s.fake.Thread(room, said.Message.Message); len(thread) != 2 || thread[1].Shown() != "Here is help" {
		t.Errorf("thread %+v", thread)
	}
	ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: said.Message}, card())
	if ref.Chat != ann.Chat() {
		t.Error("a card with buttons went into a channel")
	}
	ann.MentionInThread(room, said.Message.Message, "more").Acked()
	again := s.inbox.wait(t, s.Channel, 2)[1]
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: again.Message}, bot.Card{Head: "More help"})
	if thread := s.fake.Thread(room, said.Message.Message); len(thread) != 4 {
		t.Errorf("%d messages in the thread", len(thread))
	}
}

func TestReplyInAThreadOfTheDirectChat(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.DMInThread(ref.Message, "status 1").Acked()
	said := s.inbox.wait(t, s.Channel, 1)[0]
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: said.Message}, bot.Card{Head: "It waits."})
	if thread := s.fake.Thread(ann.Chat(), ref.Message); len(thread) != 3 || thread[2].Shown() != "It waits." {
		t.Errorf("thread %+v", thread)
	}
	ann.DM("pending").Acked()
	said = s.inbox.wait(t, s.Channel, 2)[1]
	flat := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: said.Message}, bot.Card{Head: "Nothing."})
	if all := ann.Messages(); all[len(all)-1].TS != flat.Message || all[len(all)-1].ThreadTS != "" {
		t.Errorf("the reply began a thread: %+v", all[len(all)-1])
	}
}

// Fault 42: a command is answered where it was typed, to the one who typed it;
// where the app is not, in the direct chat.
func TestCommandIsAnsweredWhereItWasTyped(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	room, elsewhere := s.fake.Channel(0, "ops", ann), s.fake.Channel(0, "secret", ann)
	s.fake.RemoveBot(0, elsewhere)
	for i, channel := range []string{room, elsewhere, ann.Chat()} {
		ann.SlashIn(channel, "pending").Acked()
		typed := s.inbox.wait(t, s.Channel, i+1)[i]
		mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: typed.Message}, bot.Card{Head: "Nothing waits."})
	}
	if lines := ann.Ephemerals(); len(lines) != 1 || lines[0].Channel != room {
		t.Errorf("ephemeral lines %+v", lines)
	}
	if said := len(ann.Messages()); said != 2 {
		t.Errorf("%d messages in the direct chat", said)
	}
	if said := s.fake.Transcript(room); len(said) != 0 {
		t.Errorf("everybody sees %+v", said)
	}
	ann.SlashIn(room, "pending").Acked()
	typed := s.inbox.wait(t, s.Channel, 4)[3]
	if ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity(), ReplyTo: typed.Message}, card()); ref.Chat != ann.Chat() {
		t.Error("a card with buttons was shown in passing")
	}
}

func TestNames(t *testing.T) {
	s := idle(t, slackfake.Options{Apps: []slackfake.App{{}, {Team: "T0OTHER"}}})
	ann := s.fake.Person("ann")
	for range 3 {
		if name := s.NameOf(t.Context(), ann.Identity()); name != "ann" {
			t.Errorf("ann is called %q", name)
		}
	}
	if calls := s.fake.Calls("users.info"); len(calls) != 1 {
		t.Errorf("%d calls for one name", len(calls))
	}
	ben := s.fake.Person("ben")
	s.fake.Inject(slackfake.Fault{Method: "users.info", Status: 503})
	if name := s.NameOf(t.Context(), ben.Identity()); name != "" {
		t.Errorf("ben is called %q", name)
	}
	if name := s.NameOf(t.Context(), ben.Identity()); name != "ben" {
		t.Errorf("after a failure ben is called %q", name)
	}
	for _, stranger := range []string{"T0HOLM/U0NOBODY", "T0OTHER/" + ann.ID(), "?"} {
		if name := s.NameOf(t.Context(), stranger); name != "" {
			t.Errorf("%s is called %q", stranger, name)
		}
	}
}

func TestMissingScopeIsNamedUntilItIsThere(t *testing.T) {
	s := idle(t, slackfake.Options{Apps: []slackfake.App{{BotScopes: []string{"im:write", "users:read"}}}})
	ann := s.fake.Person("ann")
	if _, err := s.Send(t.Context(), bot.Recipient{Identity: ann.Identity()}, card()); !errors.Is(err, bot.ErrSetup) {
		t.Fatalf("Send without chat:write: %v", err)
	}
	if h := s.Health(); !strings.Contains(h.Error, "chat.postMessage") || !strings.Contains(h.Error, "scope chat:write") {
		t.Errorf("health %+v", h)
	}
	s.fake.Grant(0, "chat:write")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	if h := s.Health(); h.Error != "" {
		t.Errorf("health %+v", h)
	}
}

func TestAnswerIsForTheOneWhoTapped(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann, ben := s.fake.Person("ann"), s.fake.Person("ben")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.Click("Reject").Acked()
	tap := s.inbox.wait(t, s.Channel, 1)[0]
	if err := s.Answer(t.Context(), tap, "You rejected it <!here>."); err != nil {
		t.Fatal(err)
	}
	if lines := ann.Ephemerals(); len(lines) != 1 || lines[0].Shown() != "You rejected it <!here>." {
		t.Errorf("ann saw %+v", lines)
	}
	if lines := ben.Ephemerals(); len(lines) != 0 {
		t.Errorf("ben saw %+v", lines)
	}
}

func TestTapThatCannotBeAnsweredIsNoError(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.Click("Reject").Acked()
	tap := s.inbox.wait(t, s.Channel, 1)[0]
	for _, code := range []string{"channel_not_found", "user_not_in_channel", "is_archived", "messages_tab_disabled"} {
		s.fake.Inject(slackfake.Fault{Method: "chat.postEphemeral", Code: code})
		if err := s.Answer(t.Context(), tap, "too late"); err != nil {
			t.Errorf("Answer with %s: %v", code, err)
		}
	}
	s.fake.Inject(slackfake.Fault{Method: "chat.postEphemeral", Code: "token_revoked"})
	if err := s.Answer(t.Context(), tap, "too late"); !errors.Is(err, bot.ErrSetup) {
		t.Errorf("Answer with a revoked token: %v", err)
	}
	s.fake.Inject(slackfake.Fault{Method: "chat.postEphemeral", Status: 500})
	if err := s.Answer(t.Context(), tap, "too late"); err == nil {
		t.Error("Answer hides a failure of Slack's")
	}
	if err := s.Answer(t.Context(), bot.Event{}, "whom?"); err == nil {
		t.Error("Answer to nobody succeeded")
	}
}
