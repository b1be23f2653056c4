package bot_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/bot"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// leaves takes an account from its person, as the operator does with one that
// was stolen.
func (w *world) leaves(who string) {
	w.t.Helper()
	a := identity.Address{Channel: "chat", Identity: who}
	user, _, err := identity.FindUser(w.ctx, w.pool, a)
	must(user, err)
	w.tx(func(tx pgx.Tx) error {
		return identity.RemoveIdentity(w.ctx, tx, user.ID, a, false, "test")
	})
}

// What was typed from an account before it was taken away does not run in the
// name of its person afterwards, and nothing more is told there.
func TestAnAccountThatWasTakenAwayGetsNothingMore(t *testing.T) {
	w := newWorld(t)
	gus := w.member("chat", "gus", policy.User, "main")
	w.tx(func(tx pgx.Tx) error { // who has another phone, too
		return identity.AddIdentity(w.ctx, tx, gus, identity.Address{Channel: "chat", Identity: "gus-two"}, "", "test")
	})
	w.owner("ann")
	w.attach()
	w.types("gus", "hello agent")
	w.types("gus", "run refund order=7")
	w.hears("gus", "Waiting for approval: request #1")
	r := must(approvals.GetShort(w.ctx, w.pool, "main", 1))
	w.poll("the text stored", func() bool { _, texts := w.said(); return strings.Contains(strings.Join(texts, ","), "hello agent") })
	sessions, _ := w.said()

	w.leaves("gus")
	contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveCall)), "Approved once")
	w.poll("the call ended", func() bool { return w.callState("done") == 1 })
	w.answers(sessions[0], "the secret is 42")
	w.poll("the answer handled", func() (done bool) {
		must("", w.pool.QueryRow(w.ctx, `SELECT count(*) > 0 FROM river.river_job WHERE kind = $1 AND finalized_at IS NOT NULL`,
			session.DeliverArgs{}.Kind()).Scan(&done))
		return done
	})
	w.settled()
	if ran := w.shop.calls(); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
	if w.now(r).ClaimedAt != nil {
		t.Error("the approval was used")
	}
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	for _, m := range w.chat.messages {
		if m.to.Identity == "gus" && (strings.Contains(m.card.Head, "done:") || strings.Contains(m.card.Head, "secret")) {
			t.Errorf("told at the account that was taken away: %s", m.card.Head)
		}
	}
}

// TestACardAndItsRouteAreGivenUpTogether: where only one of the two were noted, what
// the person does next would bring nothing.
func TestACardAndItsRouteAreGivenUpTogether(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	w.exec(`
		CREATE FUNCTION closed_routes_down() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
		    RAISE EXCEPTION 'down';
		END $$`)
	w.exec(`CREATE TRIGGER down BEFORE INSERT ON closed_routes FOR EACH ROW EXECUTE FUNCTION closed_routes_down()`)
	w.platform(func(string, bot.Card) error { return bot.ErrUnreachable })
	w.start()
	r := w.ask(`{}`)
	w.poll("the note failed", func() bool {
		var n int
		must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM river.river_job WHERE kind = 'approval_deliver' AND cardinality(errors) > 0`).Scan(&n))
		return n > 0
	})
	w.exec(`DROP TRIGGER down ON closed_routes`)
	w.exec(`UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'approval_deliver' AND state = 'retryable'`)
	w.poll("both noted", func() bool {
		state, _, _ := w.delivery("ann", r)
		return state == "unreachable" && len(must(w.bot.ClosedRoutes(w.ctx))) == 1
	})
	w.platform(nil)
	w.says("ann", "whoami")
	w.card("ann", r)
}
