package bot_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/bot"
	"holm/internal/identity"
	"holm/policy"
)

func (w *world) invite(agent string, role policy.Role) (token string) {
	w.t.Helper()
	w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.CreateInvite(w.ctx, tx, agent, role, "admin")
		return err
	})
	return token
}

func TestStrangersAreToldNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{"title":"hidden"}`)
	w.card("ann", r)
	for _, line := range []string{
		"", "hello", "start", "help", "whoami", "pending", "approve 1", "approve main#1", "reject 1 no", "link", "/approve 1", "APPROVE 1",
	} {
		text := w.says("stranger", line)
		contains(t, text, "This bot is private", "An owner of agent main can invite you")
		if strings.Contains(text, "github") || strings.Contains(text, "#1") || strings.Contains(text, "hidden") {
			t.Errorf("%q told a stranger %q", line, text)
		}
	}
	contains(t, w.says("stranger", "start "+strings.Repeat("A", 32)), "not valid")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
}

func TestInvitationMakesAnOwnerWhoSeesWhatWaits(t *testing.T) {
	for _, verb := range []string{"start ", "link ", "/start "} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t)
			r := w.ask(`{"title":"hello"}`)
			token := w.invite("main", policy.Owner)

			contains(t, w.says("ann", verb+token), "You are now owner of agent main.")
			w.card("ann", r)
			contains(t, w.says("ann", verb+token), "You are now owner of agent main.") // sent again
			contains(t, w.says("eve", verb+token), "not valid")
			contains(t, w.says("eve", "pending"), "private")
			contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveCall)), "Approved once")
		})
	}
}

func TestInvitationInAGroupIsNotUsed(t *testing.T) {
	w := newWorld(t)
	token := w.invite("main", policy.Owner)
	contains(t, w.saysAs("ann", "start "+token, false), "only here, in your own chat")
	contains(t, w.says("ann", "whoami"), "private")
}

func TestInvitationOfAUserGivesNoMore(t *testing.T) {
	w := newWorld(t)
	r := w.ask(`{}`)
	contains(t, w.says("gus", "start "+w.invite("main", policy.User)), "You are now user of agent main.")
	for _, line := range []string{"pending", "approve 1", "reject 1"} {
		contains(t, w.says("gus", line), "Only an owner")
	}
	if text := w.says("gus", "help"); strings.Contains(text, "approve") {
		t.Errorf("help offers what is refused: %q", text)
	}
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
}

func TestOwnersDecideInWords(t *testing.T) {
	for line, want := range map[string]struct {
		status     approvals.Status
		resolution policy.Resolution
		extent     approvals.Extent
		reply      string
	}{
		"approve 1":                   {approvals.Approved, policy.Single, "", "Approved once"},
		"Approve #1 once":             {approvals.Approved, policy.Single, "", "Approved once"},
		"/approve main#1 hour":        {approvals.Approved, policy.Once, "", "Approved for 60 min"},
		"approve 1 single fine by me": {approvals.Approved, policy.Single, "", "Approved once"},
		"approve @main 1 single":      {approvals.Approved, policy.Single, "", "Approved once"},
		"approve 1 always":            {approvals.Approved, policy.Persistent, approvals.WholeTool, "any arguments"},
		"approve 1 always these":      {approvals.Approved, policy.Persistent, approvals.TheseArguments, "these arguments"},
		"reject 1 wrong repo":         {approvals.Rejected, "", "", "Rejected"},

		"reject 1 differently wrong repo": {approvals.Rejected, "", "", "Rejected"},
	} {
		t.Run(line, func(t *testing.T) {
			w := newWorld(t)
			w.owner("ann")
			r := w.ask(`{}`)
			contains(t, w.says("ann", line), want.reply)
			contains(t, w.says("ann", line), want.reply) // an event that is handled again
			now := w.now(r)
			if now.Status != want.status || value(now.Resolution) != want.resolution || value(now.Extent) != want.extent {
				t.Errorf("request is %s %s %s", now.Status, value(now.Resolution), value(now.Extent))
			}
			if strings.HasPrefix(line, "reject") && value(now.Reason) != "wrong repo" {
				t.Errorf("reason is %q", value(now.Reason))
			}
			if now.TryDifferently != strings.Contains(line, "differently") {
				t.Errorf("invites another proposal: %v", now.TryDifferently)
			}
		})
	}
}

func TestWordsThatDecideNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	for line, reply := range map[string]string{
		"approve":                      "Which one?",
		"approve x":                    "not the number",
		"approve -1":                   "not the number",
		"approve 1e3":                  "not the number",
		"approve 99999999999999999999": "not the number",
		"approve 2":                    "no request #2",
		"approve other#1":              "no request #1",
		"approve 1 please":             "Approve how?",
		"reject 1 " + longReason:       "longer than 1000",
		"pending":                      "#1 · github__create_issue · from requester of main",
		"whoami":                       "You are Ann (chat:ann).\nYou are owner of agent main.",
		"help":                         "https://holm.test",
		"approved 1":                   "approve N",
		"reject":                       "Which one?",
		"aprove 1":                     "Did you mean: approve N",
		"/zzzzzzzz":                    "no command “zzzzzzzz”",
		"zzzzzzzz":                     "No program of agent main listens now",
		"approve @other 1":             "no request #1",
		"pending @other":               "no owner of an agent other",
		"help reject":                  "the reason is passed on",
		"help rejct":                   "Did you mean: reject",
		"status":                       "Usage: status N",
		"status 2":                     "no request #2",
		"status 1":                     "Waits for an owner until",
	} {
		contains(t, w.says("ann", line), reply)
	}
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
}

var longReason = strings.Repeat("r", 1001)

func TestAnOwnerOfSeveralAgentsNamesTheOne(t *testing.T) {
	w := newWorld(t)
	w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(w.ctx, tx, "other", "test")
		return err
	})
	w.owner("ann")
	w.member("chat", "ann", policy.Owner, "other")
	w.owner("bob")
	first := w.ask(`{}`)
	second := w.askAs("other", "agent:other", `{}`, nil)

	contains(t, w.says("ann", "pending"), "main#1", "other#1")
	contains(t, w.says("ann", "approve 1"), "Several of your agents", "#1")
	if w.now(first).Status != approvals.Pending || w.now(second).Status != approvals.Pending {
		t.Fatal("an ambiguous word decided")
	}
	contains(t, w.says("ann", "approve other#1"), "Approved once")
	if w.now(first).Status != approvals.Pending || w.now(second).Status != approvals.Approved {
		t.Error("the other request was decided")
	}
	contains(t, w.says("ann", "reject 1"), "Rejected") // one alone is open now
	if w.now(first).Status != approvals.Rejected {
		t.Error("the open request was not meant")
	}
	contains(t, w.says("bob", "approve other#1"), "no request #1")
	contains(t, w.says("bob", "approve 1"), "already rejected by Ann (chat)")
}
