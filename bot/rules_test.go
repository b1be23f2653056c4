package bot_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

func TestACardTellsTheTally(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	r := w.askAs("main", "agent:main", `{}`, &policy.ApprovalSettings{Quorum: 2})
	press := w.token("ann", r, bot.LabelApproveCall)
	w.card("bob", r)
	if text := strings.Join(w.card("ann", r).card.Notes, "\n"); !strings.Contains(text, "0 of 2 approvals so far.") {
		t.Errorf("notes %q", text)
	}

	contains(t, w.tap("ann", press), "Yours is the 1st of 2 approvals of request #1; nothing runs yet.")
	contains(t, w.tap("ann", press), "You approved request 1 already; 1 of 2 approvals.")
	w.see("nothing to approve for who has approved", func() bool {
		m := w.find("ann", "#1")
		return token(m.card, "Approve") == "" && token(m.card, bot.LabelReject) != "" && token(w.find("bob", "#1").card, "Approve") != "" &&
			strings.Contains(strings.Join(m.card.Notes, "\n"), "You have approved: 1 of 2 approvals. Nothing runs before")
	})
	for _, who := range []string{"ann", "bob"} {
		w.see("the tally at "+who, func() bool {
			m := w.find(who, "#1")
			return strings.Contains(strings.Join(m.card.Notes, "\n"), "1 of 2 approvals: Ann (chat).") && len(m.card.Buttons) > 0
		})
	}
	contains(t, w.says("bob", "approve 1 hour looks right"), "Approved once", // the narrowest holds
		"Ann approved this call only, Bob approved for 60 min; the narrowest holds.")
	for _, who := range []string{"ann", "bob"} {
		w.see("the end at "+who, func() bool {
			m := w.find(who, "✅ Approved · #1")
			return m != nil && strings.Contains(strings.Join(m.card.Notes, "\n"), "2 of 2 approvals: Ann (chat), Bob (chat).") &&
				strings.Contains(strings.Join(m.card.Notes, "\n"), "the narrowest holds.")
		})
	}
}

func TestThoseWhomTheRuleNamesDecideInChat(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	gus := w.member("chat", "gus", policy.Guest, "main")
	w.member("chat", "eve", policy.Guest, "main")
	r := w.askAs("main", "agent:main", `{"title":"hello"}`, &policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToUser(gus)}})

	contains(t, w.says("gus", "pending"), "#1 · github__create_issue")
	contains(t, w.says("gus", "help"), "approve N")
	contains(t, w.says("eve", "approve 1"), "Only an owner")
	contains(t, w.says("ann", "approve 1"), "Only those whom its rule names may decide request 1.")
	contains(t, w.says("ann", "pending"), "Nothing waits")
	contains(t, w.tap("gus", w.token("gus", r, bot.LabelDetails)), "come as a message")
	w.chat.mu.Lock()
	if w.find("ann", "#1") != nil || w.find("eve", "#1") != nil {
		t.Error("somebody else has a card")
	}
	w.chat.mu.Unlock()
	contains(t, w.tap("gus", w.token("gus", r, bot.LabelApproveCall)), "Approved once")
}

// Whoever joins a circle that a rule names sees what waits for it.
func TestWhoJoinsACircleSeesWhatWaitsForIt(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.member("chat", "gus", policy.Guest, "main")
	r := w.askAs("main", "agent:main", `{}`, &policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToCircle("night")}})
	contains(t, w.says("ann", "circle add night gus"), "Gus is in circle night")
	contains(t, w.tap("gus", w.token("gus", r, bot.LabelApproveCall)), "Approved once")
}

func TestARuleThatWantsAReasonGetsOne(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	wants := &policy.ApprovalSettings{RequireReason: true}
	first, second := w.askAs("main", "agent:main", `{"n":1}`, wants), w.askAs("main", "agent:main", `{"n":2}`, wants)
	contains(t, strings.Join(w.card("ann", first).card.Notes, "\n"), "The rule wants a reason: approve main#1 once REASON, or reject main#1 REASON.")

	contains(t, w.says("ann", "reject 2"), "wants a reason")
	contains(t, w.says("ann", "approve 2 hour"), "wants a reason")
	contains(t, w.says("ann", "approve main#2 hour the build waits"), "Approved for 60 min")

	w.tap("ann", w.token("ann", first, bot.LabelMore))
	w.tap("ann", w.token("ann", first, bot.LabelAlwaysArguments))
	contains(t, w.tap("ann", w.token("ann", first, bot.LabelYesAlways)), "Answer the message with your reason.")
	if w.now(first).Status != approvals.Pending {
		t.Fatal("decided without a reason")
	}
	contains(t, w.replies("ann", w.question("ann", 1).at, "harmless"), "Always allowed with these arguments")
	if got := value(w.now(first).Reason) + ", " + value(w.now(second).Reason); got != "harmless, the build waits" {
		t.Errorf("reasons %q", got)
	}
}

// A reminder is a message of its own below the card, once for each person,
// however often its job runs and although the platform fails at first.
func TestAReminderIsAReplyToTheCard(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	gus := w.member("chat", "gus", policy.Guest, "main")
	r := w.askAs("main", gus, `{}`, &policy.ApprovalSettings{RemindAfterMinutes: 5})
	card := w.card("ann", r)
	w.poll("the card is noted as sent", func() bool {
		state, _, _ := w.delivery("ann", r)
		return state == "sent"
	})
	failed := false
	w.chat.mu.Lock()
	w.chat.before = func(what string, c bot.Card) error {
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		if !failed && strings.HasPrefix(c.Head, "⏰") {
			failed = true
			return errors.New("the platform is down")
		}
		return nil
	}
	w.chat.mu.Unlock()
	for range 3 {
		if err := w.svc.Remind(w.ctx, r.ID, 1); err != nil {
			t.Fatal(err)
		}
	}
	reminders := func() (found []*message) {
		for _, m := range w.chat.messages {
			if strings.HasPrefix(m.card.Head, "⏰ Request #1 still waits for you: github__create_issue") {
				found = append(found, m)
			}
		}
		return found
	}
	w.see("a reminder", func() bool { return len(reminders()) == 1 })
	w.see("the requester is told", func() bool {
		for _, m := range w.chat.messages {
			if m.to.Identity == "gus" && strings.Contains(m.card.Head, "its reviewers were reminded") {
				return true
			}
		}
		return false
	})
	w.exec(`INSERT INTO river.river_job (args, kind, max_attempts, queue, state)
		SELECT args, kind, max_attempts, queue, 'available' FROM river.river_job WHERE kind = 'approval_remind_card'`)
	w.poll("the job has run again", func() bool {
		var left int
		if err := w.pool.QueryRow(w.ctx, `SELECT count(*) FROM river.river_job WHERE kind = 'approval_remind_card' AND finalized_at IS NULL`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if got := reminders(); len(got) != 1 || got[0].to.ReplyTo != card.ref || got[0].to.Identity != "ann" {
		t.Errorf("reminders %+v", got)
	}
}

func TestEscalationBringsTheCardToFurtherPeople(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.member("chat", "uma", policy.User, "main")
	r := w.askAs("main", "agent:main", `{}`, &policy.ApprovalSettings{
		EscalateAfterMinutes: 5, EscalateTo: []policy.Grant{policy.ToRole(policy.User)},
	})
	w.card("ann", r)
	if err := w.svc.Escalate(w.ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	w.see("the note on the first card", func() bool {
		return strings.Contains(strings.Join(w.find("ann", "#1").card.Notes, "\n"), "further people may answer as well")
	})
	contains(t, w.tap("uma", w.token("uma", r, bot.LabelApproveCall)), "Approved once")
	w.see("the end at ann", func() bool { return w.find("ann", "✅ Approved · #1") != nil })
}

// A reminder that was on its way while its reader approved is not sent any more.
func TestWhoHasApprovedIsNotReminded(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	r := w.askAs("main", "agent:main", `{}`, &policy.ApprovalSettings{Quorum: 2, RemindAfterMinutes: 5})
	for _, who := range []string{"ann", "bob"} {
		w.card(who, r)
		w.poll("the card is noted as sent", func() bool {
			state, _, _ := w.delivery(who, r)
			return state == "sent"
		})
	}
	w.tap("ann", w.token("ann", r, bot.LabelApproveCall))
	for _, who := range []string{"ann", "bob"} { // in this order
		var id string
		if err := w.pool.QueryRow(w.ctx, `SELECT id FROM card_deliveries WHERE request_id = $1 AND identity = $2`, r.ID, who).Scan(&id); err != nil {
			t.Fatal(err)
		}
		w.tx(func(tx pgx.Tx) error {
			_, err := w.client.InsertManyTx(w.ctx, tx, []river.InsertManyParams{
				{Args: approvals.RemindCardArgs{DeliveryID: id, Number: 1}, InsertOpts: &river.InsertOpts{Queue: approvals.CardQueue}}})
			return err
		})
	}
	w.see("the reminder of bob", func() bool { return w.told("bob", "⏰ Request #1 still waits for you") })
	w.settled()
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if w.told("ann", "⏰") {
		t.Error("ann was reminded of what she has approved")
	}
}
