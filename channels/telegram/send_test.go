package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holm/bot"
	"holm/internal/testkit/telegramfake"
)

func TestCardLooksAsDesigned(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	c := card()
	c.Silent = true
	c.Facts = append(c.Facts, bot.Fact{Label: "Agent says", Value: "it is “safe”\nTrust me", Quote: true})
	c.Args = append(c.Args, bot.Arg{Name: "note", Value: "x\nRule: trusted", Cut: 120})
	m := s.send(c)

	want := `Approval needed · risk: high
From: deploy-bot
Tool: shell/run
Agent says: “it is "safe"
  │ Trust me”

command: rm -rf <dir> && echo "done"
note: x
  │ Rule: trusted … 120 more characters

Approving runs the waiting call at once.`
	if diff := cmp.Diff(want, m.Text); diff != "" {
		t.Error(diff)
	}
	var kinds []string
	for _, e := range m.Entities {
		kinds = append(kinds, e.Type)
	}
	if diff := cmp.Diff([]string{"bold", "code", "italic", "code", "code"}, kinds); diff != "" {
		t.Error(diff)
	}
	wantKeys := [][]telegramfake.Button{
		{{Text: "Approve", Data: "tok-approve", Style: "primary"}, {Text: "Reject", Data: "tok-reject", Style: "danger"}},
		{{Text: "Details", Data: "tok-details"}},
	}
	if diff := cmp.Diff(wantKeys, m.Buttons); diff != "" {
		t.Error(diff)
	}
	if !m.Silent || !m.NoPreview {
		t.Errorf("silent %v, without preview %v", m.Silent, m.NoPreview)
	}
}

func TestHiddenCharactersOfCallersAreShown(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	m := s.send(bot.Card{
		Head:    "head\u202e",
		Facts:   []bot.Fact{{Label: "l\u200b\nabel", Value: "v\u2066"}},
		Args:    []bot.Arg{{Name: "n\u00ad\n", Value: "gnp.exe\u202e"}},
		Notes:   []string{"no\ufeffte"},
		Buttons: [][]bot.Button{{{Label: "o\u200dk\n", Token: "t"}}},
	})
	want := "headU+202E\nlU+200B↵abel: vU+2066\n\nnU+00AD↵: gnp.exeU+202E\n\nnoU+FEFFte"
	if m.Text != want || m.Buttons[0][0].Text != "oU+200Dk↵" {
		t.Errorf("got %q and %q", m.Text, m.Buttons[0][0].Text)
	}
}

// Apps make commands, mentions and addresses tappable, except in code.
func TestCallersCannotPlaceCommands(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	m := s.send(bot.Card{
		Head:  "h",
		Facts: []bot.Fact{{Label: "From", Value: "/approve me"}, {Label: "Agent says", Value: "see evil.example", Quote: true}, {Label: "Until", Value: "14:32 UTC (in 2.5 h)"}},
		Args:  []bot.Arg{{Name: "/approve", Value: "/approve@bot"}},
	})
	var kinds []string
	for _, e := range m.Entities {
		kinds = append(kinds, e.Type)
	}
	if diff := cmp.Diff([]string{"bold", "code", "code", "code", "code"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestPlainMessageIsItsHead(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	m := s.send(bot.Card{Head: "<b>Hello</b> & welcome\nsecond line"})
	if m.Text != "<b>Hello</b> & welcome\nsecond line" || len(m.Entities) != 0 || len(m.Buttons) != 0 {
		t.Errorf("got %+v", m)
	}
	if _, err := s.channel.Send(t.Context(), s.to(), bot.Card{Head: " \n"}); err == nil {
		t.Error("an empty message was sent")
	}
}

func TestReplyGoesWhereTheMessageIsAndButtonsStayDirect(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnconfirmed: true})
	said := s.owner.Say("/help")
	group := s.tg.Group("team", s.owner)
	inGroup := group.Post("hi")
	direct := bot.MessageRef{Chat: id(s.owner), Message: fmt.Sprint(said.MessageID)}
	buttons := [][]bot.Button{{{Label: "Approve", Token: "tok"}}}
	to := s.to()
	for _, c := range []struct {
		at      bot.MessageRef
		buttons [][]bot.Button
		chat    int64
		replyTo int64
	}{
		{direct, nil, s.owner.ID, said.MessageID},
		{s.ref(inGroup), nil, group.ID(), inGroup.ID},
		{s.ref(inGroup), buttons, s.owner.ID, 0},
	} {
		to.ReplyTo = c.at
		sent, err := s.channel.Send(t.Context(), to, bot.Card{Head: "here you are", Buttons: c.buttons})
		if err != nil {
			t.Fatal(err)
		}
		m := s.tg.WaitMessage(c.chat, func(m telegramfake.Message) bool { return s.ref(m) == sent })
		if m.ReplyTo != c.replyTo {
			t.Errorf("replied to %d in chat %d, want %d in %d", m.ReplyTo, m.Chat, c.replyTo, c.chat)
		}
	}
	to.ReplyTo = bot.MessageRef{Chat: id(s.owner), Message: "99999999"}
	if _, err := s.channel.Send(t.Context(), to, bot.Card{Head: "to a deleted one"}); err != nil {
		t.Error(err)
	}
}

func TestClosedCardLosesItsButtons(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	m := s.send(card())
	closed := card()
	closed.Buttons, closed.Notes = nil, []string{"Approved by Ada 14:24"}
	if err := s.channel.Update(t.Context(), s.ref(m), closed); err != nil {
		t.Fatal(err)
	}
	if now := s.message(s.ref(m)); len(now.Buttons) != 0 || !strings.HasSuffix(now.Text, "Approved by Ada 14:24") {
		t.Errorf("shows %q with %v", now.Text, now.Buttons)
	}
	if err := s.channel.Update(t.Context(), s.ref(m), closed); err != nil {
		t.Errorf("the same card again: %v", err)
	}
}

func TestRefusedFormattingFallsBackToPlainWithButtons(t *testing.T) {
	for _, method := range []string{"sendMessage", "editMessageText"} {
		t.Run(method, func(t *testing.T) {
			s := newSetup(t, telegramfake.Options{})
			m := s.send(bot.Card{Head: "before"})
			s.tg.Inject(telegramfake.Fault{
				Method: method, Match: func(p map[string]string) bool { return p["parse_mode"] == "HTML" },
				Code: 400, Description: `Bad Request: can't parse entities: Unsupported start tag "dir" at byte offset 9`,
			})
			if method == "sendMessage" {
				m = s.send(card())
			} else if err := s.channel.Update(t.Context(), s.ref(m), card()); err != nil {
				t.Fatal(err)
			}
			now := s.message(s.ref(m))
			if len(now.Entities) != 0 || !strings.Contains(now.Text, `rm -rf <dir> && echo "done"`) {
				t.Errorf("shows %q with %v", now.Text, now.Entities)
			}
			if _, ok := now.Button("Approve"); !ok {
				t.Errorf("buttons were lost: %v", now.Buttons)
			}
		})
	}
}

func TestLongCardsAreCutTruthfully(t *testing.T) {
	long := strings.Repeat("<&\u202e", 5000)
	cards := map[string]bot.Card{
		"one long value":     {Head: "h", Args: []bot.Arg{{Name: "a", Value: long, Cut: 7}, {Name: "b", Value: "short"}}, Notes: []string{"the end"}},
		"many long values":   {Head: "h", Args: many(30, 900), Notes: []string{"the end"}},
		"too many arguments": {Head: "h", Args: many(900, 3), Notes: []string{"the end"}},
		"long fact and note": {Head: "h", Facts: []bot.Fact{{Label: "f", Value: long, Quote: true}}, Notes: []string{long, "the end"}},
		"too many facts":     {Head: "h", Facts: make([]bot.Fact, 3000)},
		"long head":          {Head: long},
		"emoji beyond BMP":   {Head: "h", Args: []bot.Arg{{Name: "a", Value: strings.Repeat("👩\u200d👩\u200d👧", 3000)}}, Notes: []string{"the end"}},
	}
	for name, c := range cards {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, telegramfake.Options{})
			c.Buttons = card().Buttons
			m := s.send(c)
			if n := utf8.RuneCountInString(m.Text); n > 4096 || n < 3000 {
				t.Errorf("%d characters", n)
			}
			if len(c.Notes) > 0 && !strings.HasSuffix(m.Text, "the end") {
				t.Errorf("the notes were lost: …%q", m.Text[len(m.Text)-80:])
			}
			if _, ok := m.Button("Approve"); !ok {
				t.Error("the buttons were lost")
			}
		})
	}
}

func many(n, length int) []bot.Arg {
	args := make([]bot.Arg, n)
	for i := range args {
		args[i] = bot.Arg{Name: fmt.Sprint("arg", i), Value: strings.Repeat("x", length)}
	}
	return args
}

// Whatever callers write: the card arrives at the first attempt, formatted, with
// its buttons, and shows nothing hidden.
func TestAnyCardArrives(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	words := rapid.StringOfN(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("<>&\";/ab\n\t\u202e\u200d👩🏽\u0301"))), 0, 3000, -1)
	rapid.Check(t, func(r *rapid.T) {
		c := bot.Card{Head: "h " + words.Draw(r, "head"), Buttons: card().Buttons}
		for range rapid.IntRange(0, 3).Draw(r, "facts") {
			c.Facts = append(c.Facts, bot.Fact{Label: words.Draw(r, "label"), Value: words.Draw(r, "value"), Code: rapid.Bool().Draw(r, "code"), Quote: rapid.Bool().Draw(r, "quote")})
		}
		for range rapid.IntRange(0, 30).Draw(r, "args") {
			c.Args = append(c.Args, bot.Arg{Name: words.Draw(r, "name"), Value: words.Draw(r, "value"), Cut: rapid.IntRange(0, 9).Draw(r, "cut")})
		}
		c.Notes = rapid.SliceOfN(words, 0, 3).Draw(r, "notes")

		who, before := s.tg.Person("P").Open(), len(s.tg.Calls("sendMessage"))
		if _, err := s.channel.Send(t.Context(), bot.Recipient{Identity: id(who)}, c); err != nil {
			r.Fatal(err)
		}
		m := s.tg.WaitMessage(who.ID, nil)
		if n := len(s.tg.Calls("sendMessage")) - before; n != 1 || len(m.Buttons) != 2 {
			r.Errorf("%d calls, buttons %v", n, m.Buttons)
		}
		if m.Text != bot.Visible(m.Text) {
			r.Errorf("hides something: %+q", m.Text)
		}
	})
}

// What is shown and what is said to be missing add up to the whole.
func TestCutNamesTheMissingCharacters(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	m := s.send(bot.Card{Head: "h", Args: []bot.Arg{{Name: "a", Value: strings.Repeat("é", 9000), Cut: 7}}})
	var missing int
	shown := strings.Count(m.Text, "é")
	if _, err := fmt.Sscanf(m.Text[strings.Index(m.Text, "…"):], "… %d more characters", &missing); err != nil {
		t.Fatal(err)
	}
	if shown+missing != 9007 {
		t.Errorf("%d shown, %d missing", shown, missing)
	}
}

func TestTextThatTelegramFindsTooLongIsCutAgain(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "sendMessage", Code: 400, Description: "Bad Request: message is too long"})
	m := s.send(bot.Card{Head: "h", Args: []bot.Arg{{Name: "a", Value: strings.Repeat("x", 4000)}}})
	if n := utf8.RuneCountInString(m.Text); n > 2048 || !strings.Contains(m.Text, "more characters") {
		t.Errorf("%d characters", n)
	}
}

// A message that is cut again offers no approval of what it leaves out.
func TestACardThatIsCutAgainApprovesNothingUnseen(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "sendMessage", Code: 400, Description: "Bad Request: message is too long"})
	m := s.send(bot.Card{
		Head: "h", Args: []bot.Arg{{Name: "a", Value: strings.Repeat("x", 3000)}}, Whole: true,
		Buttons: [][]bot.Button{{{Label: "Approve", Token: "yes", Approves: true}, {Label: "Reject", Token: "no"}}},
	})
	if len(m.Buttons) != 1 || len(m.Buttons[0]) != 1 || m.Buttons[0][0].Text != "Reject" {
		t.Errorf("buttons %+v", m.Buttons)
	}
}

func TestFailuresHaveTheirKinds(t *testing.T) {
	refused := func(code int, text string) telegramfake.Fault {
		return telegramfake.Fault{Code: code, Description: text}
	}
	cases := map[string]struct {
		fault telegramfake.Fault
		want  error
	}{
		"blocked":        {refused(403, "Forbidden: bot was blocked by the user"), bot.ErrUnreachable},
		"deactivated":    {refused(403, "Forbidden: user is deactivated"), bot.ErrUnreachable},
		"never started":  {refused(403, "Forbidden: bot can't initiate conversation with a user"), bot.ErrUnreachable},
		"chat not found": {refused(400, "Bad Request: chat not found"), bot.ErrUnreachable},
		"revoked token":  {refused(401, "Unauthorized"), bot.ErrSetup},
		"migrated":       {telegramfake.Fault{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: -100123}, bot.ErrUnreachable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, telegramfake.Options{})
			c.fault.Method = "sendMessage"
			s.tg.Inject(c.fault)
			if _, err := s.channel.Send(t.Context(), s.to(), card()); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBlockedAndUnknownPeopleAreUnreachable(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnconfirmed: true})
	s.owner.Block()
	stranger := s.tg.Person("Stranger")
	member := s.tg.Person("Member")
	s.tg.Group("team", member)
	for _, who := range []string{id(s.owner), id(stranger), id(member), "T01/U02", "-5", ""} {
		_, err := s.channel.Send(t.Context(), bot.Recipient{Identity: who}, card())
		if !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("send to %q: %v", who, err)
		}
		if err := s.channel.SendFile(t.Context(), bot.Recipient{Identity: who}, "a.json", []byte("{}"), ""); !errors.Is(err, bot.ErrUnreachable) {
			t.Errorf("file to %q: %v", who, err)
		}
	}
}

func TestMessagesThatCannotBeEditedAreGone(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnconfirmed: true})
	deleted := s.send(card())
	s.owner.Delete(deleted)
	said := s.owner.Say("mine")
	group := s.tg.Group("team", s.owner)
	moved := group.Post("card")
	group.Migrate()
	for name, ref := range map[string]bot.MessageRef{
		"deleted":           s.ref(deleted),
		"of the person":     {Chat: id(s.owner), Message: fmt.Sprint(said.MessageID)},
		"in a former group": s.ref(moved),
		"of another kind":   {Chat: "C01", Message: "1.2"},
		"empty":             {},
	} {
		if err := s.channel.Update(t.Context(), ref, card()); !errors.Is(err, bot.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRateLimitAsksToComeAgainAndIsRemembered(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	m := s.send(card())
	s.tg.Inject(telegramfake.Fault{Method: "editMessageText", Code: 429, RetryAfter: 240, Description: "Too Many Requests: retry after 240"})
	for range 2 {
		err := s.channel.Update(t.Context(), s.ref(m), bot.Card{Head: "done"})
		var busy *bot.RetryError
		if !errors.As(err, &busy) || busy.After > 240*time.Second || busy.After < 230*time.Second {
			t.Fatalf("got %v", err)
		}
	}
	if n := len(s.tg.Calls("editMessageText")); n != 1 {
		t.Errorf("Telegram was asked %d times within the time it had set", n)
	}
	other := s.tg.Person("Bob").Open()
	if _, err := s.channel.Send(t.Context(), bot.Recipient{Identity: id(other)}, card()); err != nil {
		t.Errorf("another chat had to wait: %v", err)
	}
}

func TestBurstsIntoOneChatAreSpacedOut(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	begun := time.Now()
	for n := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.channel.Send(ctx, s.to(), bot.Card{Head: fmt.Sprint("line ", n)})
		cancel()
		var busy *bot.RetryError
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &busy) {
			t.Fatal(err)
		}
	}
	most := 3 + int(time.Since(begun)/time.Second) + 1
	if n := len(s.tg.Calls("sendMessage")); n == 0 || n > most {
		t.Errorf("%d messages went out in %s", n, time.Since(begun))
	}
}

func TestBrokenAnswersAreTransient(t *testing.T) {
	for name, f := range map[string]telegramfake.Fault{
		"HTML page":   {HTML: true},
		"cut off":     {Drop: true},
		"lost answer": {Truncate: true, PerformFirst: true},
		"server":      {Code: 500, Description: "Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, telegramfake.Options{})
			f.Method = "sendMessage"
			s.tg.Inject(f)
			_, err := s.channel.Send(t.Context(), s.to(), card())
			var busy *bot.RetryError
			if err == nil || errors.Is(err, bot.ErrUnreachable) || errors.Is(err, bot.ErrGone) || errors.Is(err, bot.ErrSetup) || errors.As(err, &busy) {
				t.Errorf("got %v", err)
			}
			if strings.Contains(fmt.Sprint(err), "\n") || len(fmt.Sprint(err)) > 1000 {
				t.Errorf("unreadable: %v", err)
			}
		})
	}
}

func TestButtonDataMustFit(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	for _, token := range []string{"", strings.Repeat("é", 33)} {
		c := bot.Card{Head: "h", Buttons: [][]bot.Button{{{Label: "Approve", Token: token}}}}
		if _, err := s.channel.Send(t.Context(), s.to(), c); err == nil {
			t.Errorf("%d bytes were sent", len(token))
		}
	}
	row := make([]bot.Button, 10)
	for i := range row {
		row[i] = bot.Button{Label: "b", Token: strings.Repeat("x", 64)}
	}
	if m := s.send(bot.Card{Head: "h", Buttons: [][]bot.Button{row}}); len(m.Buttons) != 2 {
		t.Errorf("ten buttons came in %d rows", len(m.Buttons))
	}
}

func TestFileArrivesWhole(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	data := []byte(`{"args":"` + strings.Repeat("x", 100_000) + `"}`)
	if err := s.channel.SendFile(t.Context(), s.to(), "../../etc/call\u202e.json", data, strings.Repeat("ä", 2000)); err != nil {
		t.Fatal(err)
	}
	m := s.tg.WaitMessage(s.owner.ID, func(m telegramfake.Message) bool { return m.Document != nil })
	if string(m.Document.Data) != string(data) || m.Document.Name != "callU+202E.json" {
		t.Errorf("got %d bytes as %q", len(m.Document.Data), m.Document.Name)
	}
	if n := utf8.RuneCountInString(m.Text); n != 1024 {
		t.Errorf("caption of %d characters", n)
	}
	if err := s.channel.SendFile(t.Context(), s.to(), "empty", nil, ""); err == nil {
		t.Error("an empty file was sent")
	}
}
