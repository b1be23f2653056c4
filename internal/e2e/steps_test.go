package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holm/internal/crashpoint"
	"holm/internal/identity"
	"holm/internal/testkit/telegramfake"
)

// The person whose call it is, on Telegram.
const requesterID = 700002

// end is how the call of a walk ends.
type end struct {
	// kind is the error type that its caller gets, empty for the result.
	kind string
	// runs is how often the upstream sees it.
	runs int
	// card is what the owner's card says at last.
	card string
	// status and outcome are those of the request.
	status, outcome string
}

var (
	done    = end{runs: 1, card: "Done", status: "approved", outcome: "succeeded"}
	unsent  = end{kind: "OUTCOME_UNKNOWN", runs: 0, card: "Outcome unknown", status: "approved", outcome: "outcome_unknown"}
	untold  = end{kind: "OUTCOME_UNKNOWN", runs: 1, card: "Outcome unknown", status: "approved", outcome: "outcome_unknown"}
	expired = end{kind: "APPROVAL_EXPIRED", card: "Expired", status: "expired"}
)

// TestKilledAtEachStep ends holm between each two steps of a blocked call. It
// is started again, its client calls again as it was told, and in the end
// nothing is lost and nothing has happened twice.
func TestKilledAtEachStep(t *testing.T) {
	for _, walk := range []struct {
		at crashpoint.Point
		// then is where the next life ends.
		then crashpoint.Point
		// away is a client that asks, and comes back after the death: what happens
		// at the card is then apart from the call, which would run meanwhile.
		away bool
		end
	}{
		{at: crashpoint.CallArrived, end: done},
		{at: crashpoint.Asking, end: done},
		{at: crashpoint.Asked, end: done},
		{at: crashpoint.SendingCard, end: done},
		{at: crashpoint.SentCard, end: done},
		{at: crashpoint.StoredUpdate, end: done},
		{at: crashpoint.HandlingUpdate, end: done},
		{at: crashpoint.Deciding, end: done},
		{at: crashpoint.Decided, away: true, end: done},
		{at: crashpoint.AnsweringTap, away: true, end: done},
		{at: crashpoint.AnsweredTap, away: true, end: done},
		{at: crashpoint.EditingCard, away: true, end: done},
		{at: crashpoint.EditedCard, away: true, end: done},
		{at: crashpoint.TellingNews, away: true, end: done},
		{at: crashpoint.SentNotice, away: true, end: done},
		{at: crashpoint.ClaimingCall, end: done},
		// Once it is claimed nobody can know whether it was sent.
		{at: crashpoint.ClaimedCall, end: unsent},
		{at: crashpoint.ExecutedCall, end: untold},
		{at: crashpoint.FinishingCall, end: untold},
		{at: crashpoint.FinishedCall, end: done},
		{at: crashpoint.Expiring, end: expired},
		{at: crashpoint.Expired, end: expired},
		{at: crashpoint.ClaimedCall, then: crashpoint.EndingLostCall, end: unsent},
		{at: crashpoint.ExecutedCall, then: crashpoint.EndedLostCall, end: untold},
	} {
		name := string(walk.at)
		points := []crashpoint.Point{walk.at}
		if walk.then != "" {
			name += " and " + string(walk.then)
			points = append(points, walk.then)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walkAndDie(t, points, walk.away, walk.end)
		})
	}
}

// walkAndDie is one call from its arrival to its end, with a death at each of
// the points.
func walkAndDie(t *testing.T, at []crashpoint.Point, away bool, want end) {
	telegram, owner, env := withTelegram(t)
	telegram.PersonWithID(requesterID, "Rita").Open()
	m := newMortal(t, at, env...)
	_, seen := m.setUp("main")
	key := m.keyFor(identity.Address{Channel: "telegram", Identity: fmt.Sprint(requesterID)}, "Rita")
	openGate := func() {}
	if at[0] == crashpoint.HandlingUpdate {
		openGate = m.gate(crashpoint.HandlingUpdate)
	}

	answer := m.ask(key, away, map[string]any{"n": 1})
	card := telegram.WaitMessage(ownerID, open)
	if at[0] != crashpoint.SentCard {
		m.delivered()
	}
	if want.status == "expired" {
		m.expireNow()
	} else {
		tap := owner.Click(card, "Approve this call")
		if at[0] == crashpoint.HandlingUpdate {
			telegram.WaitConfirmed(tap.UpdateID)
		}
		openGate()
		telegram.WaitAnswer(tap)
	}

	if got := m.within(answer); got.Kind != want.kind || want.kind == "" && got.Text != "recorded" {
		t.Errorf("the caller got %+v", got)
	}
	telegram.WaitMessage(ownerID, func(c telegramfake.Message) bool { return closed(c) && strings.Contains(c.Text, want.card) })
	m.settled()
	for _, left := range telegram.Transcript(ownerID) {
		// A copy sent at the moment of the tap on the other is closed by its own.
		if at[0] == crashpoint.SentCard && open(left) {
			telegram.WaitAnswer(owner.Click(left, "Approve this call"))
		}
	}
	telegram.Settle()
	m.check(telegram, seen(), want)
	// Of a message whose sender died nobody knows whether it arrived.
	cards, most := telegram.Transcript(ownerID), 1
	if at[0] == crashpoint.SentCard {
		most = 2
	}
	if len(cards) > most {
		t.Errorf("the owner has %d cards", len(cards))
	}
	for _, p := range at {
		if _, err := os.Stat(filepath.Join(m.notes, string(p))); err != nil {
			t.Errorf("holm never died at %s", p)
		}
	}
}

// expireNow lets the deadline of the open question pass.
func (m *mortal) expireNow() {
	m.t.Helper()
	if _, err := m.pool.Exec(m.t.Context(), `UPDATE approval_requests SET expires_at = clock_timestamp() WHERE status = 'pending'`); err != nil {
		m.t.Fatal(err)
	}
}

// check looks at all that a walk leaves behind.
func (m *mortal) check(telegram *telegramfake.Server, seen []string, want end) {
	m.t.Helper()
	if len(seen) != want.runs {
		m.t.Errorf("the upstream saw %v, want %d calls", seen, want.runs)
	}
	// Whoever asked from a new session while the question was open has a share of it.
	if n := m.count(`SELECT count(*) FROM approval_requests WHERE duplicate_of IS NULL`); n != 1 {
		m.t.Errorf("%d questions, want 1", n)
	}
	var status string
	var outcome *string
	var uses int
	if err := m.pool.QueryRow(m.t.Context(), `
		SELECT r.status, r.outcome, COALESCE(sum(g.uses), 0)
		FROM approval_requests r
		LEFT JOIN approval_grants g ON g.request_id = r.id
		WHERE r.duplicate_of IS NULL
		GROUP BY r.id`).Scan(&status, &outcome, &uses); err != nil {
		m.t.Fatal(err)
	}
	if status != want.status || (outcome == nil) != (want.outcome == "") || outcome != nil && *outcome != want.outcome {
		m.t.Errorf("the request is %s with outcome %v", status, outcome)
	}
	executed := 0
	if want.status == "approved" {
		executed = 1
	}
	if uses != executed {
		m.t.Errorf("the approval was used %d times", uses)
	}
	m.checkEvents(executed)
	m.checkRecords(want.status, executed)
	for _, card := range telegram.Transcript(ownerID) {
		if open(card) {
			m.t.Errorf("a card is open at the end:\n%s", card.Text)
		}
	}
}

// checkEvents: each who asked has each event once.
func (m *mortal) checkEvents(executed int) {
	m.t.Helper()
	rows, err := m.pool.Query(m.t.Context(), `
		SELECT r.short_id,
		       count(*) FILTER (WHERE e.type = 'approval_requested'),
		       count(*) FILTER (WHERE e.type = 'approval_resolved'),
		       count(*) FILTER (WHERE e.type = 'approval_executed')
		FROM approval_requests r
		LEFT JOIN session_events e ON e.payload ->> 'requestId' = r.id
		GROUP BY r.short_id`)
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, requested, resolved, ran int
		if err := rows.Scan(&id, &requested, &resolved, &ran); err != nil {
			m.t.Fatal(err)
		}
		if requested != 1 || resolved != 1 || ran != executed {
			m.t.Errorf("request %d has %d, %d and %d events of its beginning, its answer and its execution", id, requested, resolved, ran)
		}
	}
	if rows.Err() != nil {
		m.t.Fatal(rows.Err())
	}
}

// checkRecords: the audit log is whole and tells of each move once.
func (m *mortal) checkRecords(status string, executed int) {
	m.t.Helper()
	question := `data::json ->> 'requestId' = (SELECT id FROM approval_requests WHERE duplicate_of IS NULL)`
	for kind, want := range map[string]int{
		"approval_requested": 1, "approval_" + status: 1, "call_claimed": executed, "call_finished": executed,
	} {
		if n := m.count(`SELECT count(*) FROM audit_log WHERE kind = $1 AND `+question, kind); n != want {
			m.t.Errorf("%d records %s, want %d", n, kind, want)
		}
	}
	m.holm("audit", "verify")
}
