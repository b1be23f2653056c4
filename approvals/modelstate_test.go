package approvals_test

import (
	"fmt"
	"slices"

	"holm/approvals"
	"holm/policy"
)

// model is the life of the requests of one agent as the design tells it: what the
// tables must say after each step, in plain Go. Nothing here reads the database.
type model struct {
	agent string
	list  []*modelled
	// roles are the people's; alias names the person that a merged one lives on as.
	roles, alias map[string]string
	versions     map[string]int  // of rules
	rows         map[string]*row // by rule
	// living is the number of the living process.
	living int
	// events of each request in its session, in their order, records by kind and number, counted.
	events  map[string][]string
	records map[string]int
}

// modelled is a request of the model.
type modelled struct {
	seen
	id, session, requester, args, rule string
	version, process                   int
	question                           *modelled // of a duplicate
	voters                             []vote
	hold                               *hold
	young, overdue, old, revoked       bool // asked just now; past its deadline; decided an hour ago; its grant
	stopped                            bool // its call was asked anew
	row                                *row // that a persistent approval opened
	decided                            int  // order of decisions
	card                               string
	carded                             map[string]bool // who was sent one
}

// row of policy, by which a persistent approval lets calls through.
type row struct {
	gone  bool
	users map[string]bool
}

type vote struct {
	by         string
	resolution policy.Resolution
}

type hold struct {
	by     string
	action approvals.Action
	over   bool
}

// seen is the part of a request that its row must agree with.
type seen struct {
	Number, DuplicateOf     int
	Mode                    string
	Status                  approvals.Status
	Resolution              policy.Resolution
	Votes, Asked            int
	Claimed, Finished, Told bool
	Outcome                 approvals.Outcome
	Grants, Left/* -1: any */ int
	Uses                        int
	Live, Held, Undelivered, By bool
	Escalated                   bool
}

const (
	admin    = "admin"
	capMine  = 3
	capWhole = 5
)

// needed approvals of a rule; the others need one.
func needed(rule string) int {
	if rule == "two" {
		return 2
	}
	return 1
}

func (m *model) live(person string) string {
	if to := m.alias[person]; to != "" {
		return to
	}
	return person
}

func (m *model) same(a, b string) bool { return m.live(a) == m.live(b) }

// owns tells whether a person, as whoever of those they are, is an owner.
func (m *model) owns(person string) bool {
	for other, role := range m.roles {
		if m.same(other, person) && role == "owner" {
			return true
		}
	}
	return false
}

// stands tells whether somebody may decide r now.
func (m *model) stands(person string, r *modelled) bool {
	return person == admin || (m.owns(person) || r.Escalated) && (!m.same(person, r.requester) || m.owns(person) && needed(r.rule) < 2)
}

// counted are the votes that count, one for each person.
func (m *model) counted(r *modelled) (votes []vote) {
	for _, v := range r.voters {
		again := slices.ContainsFunc(votes, func(o vote) bool { return m.same(o.by, v.by) })
		if m.stands(v.by, r) && !again {
			votes = append(votes, v)
		}
	}
	return votes
}

func (m *model) hasVoted(r *modelled, by string) bool {
	return slices.ContainsFunc(r.voters, func(v vote) bool { return m.same(v.by, by) })
}

// usable tells whether the grant of r lets a call through.
func (m *model) usable(r *modelled) bool {
	return r.Grants > 0 && !r.revoked && !r.stopped && !r.old && r.Left != 0 && (r.row == nil || r.always()) && len(m.counted(r)) >= needed(r.rule)
}

func (m *model) tell(r *modelled, event string) {
	about := fmt.Sprintf("%d in %s", r.Number, r.session)
	m.events[about] = append(m.events[about], event)
}

func (m *model) record(r *modelled, kind string) { m.records[fmt.Sprintf("%s %d", kind, r.Number)]++ }

func (m *model) duplicates(q *modelled) (list []*modelled) {
	for _, r := range m.list {
		if r.question == q {
			list = append(list, r)
		}
	}
	return list
}

// open is a question that can still be answered.
func (r *modelled) open() bool { return r.Status == approvals.Pending && !r.overdue }

// named is the request that an answer to r is about.
func (r *modelled) named() *modelled {
	if r.Status == approvals.Pending && r.question != nil {
		return r.question
	}
	return r
}

// end gives r its end, alone.
func (m *model) end(r *modelled, status approvals.Status) {
	m.decisions(r)
	r.Status = status
	r.hold = nil
	m.tell(r, "approval_resolved "+string(status))
	m.record(r, "approval_"+string(status))
}

func (m *model) decisions(r *modelled) {
	for _, other := range m.list {
		r.decided = max(r.decided, other.decided+1)
	}
}

// endAll ends a question with those that share it.
func (m *model) endAll(q *modelled, status approvals.Status) {
	m.end(q, status)
	for _, r := range m.duplicates(q) {
		if r.Status == approvals.Pending {
			r.Resolution, r.By = q.Resolution, q.By
			m.end(r, status)
		}
	}
}

func (m *model) expire(r *modelled) {
	if q := r.named(); q.Status == approvals.Pending && q.overdue {
		m.endAll(q, approvals.Expired)
	}
}

// answers is the rule for a retry.
func (r *modelled) answers() bool {
	switch {
	case r.Status == approvals.Pending:
		return true
	case r.Status == approvals.Rejected:
		return !r.Told || !r.old
	case r.Status != approvals.Approved:
		return !r.Told && !r.stopped
	case !r.Finished:
		return true
	case r.Outcome == approvals.Unknown:
		return !r.Told
	}
	return r.Resolution == policy.Single && !r.old
}

// latest is the newest question for the same call, unless it is an approval that
// nobody can claim any more.
func (m *model) latest(c *modelled) (latest *modelled) {
	for _, r := range m.list {
		if r.question == nil && m.same(r.requester, c.requester) && r.args == c.args && r.rule == c.rule && r.version == c.version {
			latest = r
		}
	}
	if latest != nil && latest.Status == approvals.Approved && !latest.Claimed && !m.usable(latest) {
		return nil
	}
	return latest
}

// ask gives the request that stands for the call c; nil when the caps refuse it,
// and nothing has changed then.
func (m *model) ask(c *modelled) *modelled {
	q := m.latest(c)
	expires := q != nil && q.Status == approvals.Pending && q.overdue
	status := approvals.Status("")
	if q != nil {
		if status = q.Status; expires {
			status = approvals.Expired
		}
	}
	if q != nil && q.session != c.session {
		var own *modelled
		for _, r := range m.duplicates(q) {
			if r.session == c.session {
				own = r
			}
		}
		ownStatus, ownAnswers := approvals.Status(""), false
		if own != nil {
			ownStatus, ownAnswers = own.Status, own.answers()
			if expires && own.Status == approvals.Pending {
				ownStatus, ownAnswers = approvals.Expired, true
			}
		}
		switch {
		case own != nil && ownStatus != approvals.Approved && ownAnswers:
			m.expire(q)
			return own
		case status == approvals.Pending:
			return m.create(c, q)
		case own != nil && ownStatus == status && status != approvals.Approved:
			return m.create(c, nil)
		}
	}
	if q != nil && (expires || q.answers()) {
		m.expire(q)
		return q
	}
	return m.create(c, nil)
}

func (m *model) create(c, q *modelled) *modelled {
	var stale []*modelled
	mine, whole, replaces := 0, 0, false
	for _, r := range m.list {
		if q == nil && r.question == nil && m.same(r.requester, c.requester) && r.args == c.args && r.rule == c.rule && r.version != c.version {
			stale = append(stale, r)
			replaces = replaces || r.open()
		}
	}
	for _, r := range m.list {
		if r.open() && m.same(r.requester, c.requester) {
			whole++
			if r.session == c.session {
				mine++
			}
		}
	}
	if !replaces && (mine >= capMine || whole >= capWhole) {
		m.records["approval_capped 0"]++
		return nil
	}
	c.Number, c.Status, c.Asked, c.young = len(m.list)+1, approvals.Pending, 1, true
	m.list = append(m.list, c)
	m.tell(c, "approval_requested")
	m.record(c, "approval_requested")
	if q != nil {
		c.question, c.DuplicateOf, c.Undelivered, c.Mode = q, q.Number, q.Undelivered, approvals.Async
		q.Asked++
		if c.Undelivered {
			m.tell(c, "approval_undelivered")
		}
		return c
	}
	if c.Mode == approvals.Async {
		m.sendCard(c)
	}
	for _, r := range stale {
		m.supersede(r)
	}
	return c
}

// supersede ends a question whose call was asked anew, and what its answer left.
func (m *model) supersede(r *modelled) {
	switch {
	case r.open():
		r.By = true
		for _, one := range append(m.duplicates(r), r) {
			one.stopped = one.stopped || one.Status == approvals.Pending
		}
		m.endAll(r, approvals.Cancelled)
	case r.Grants > 0 && !r.revoked && !r.stopped && !r.old && r.Left != 0:
		r.stopped = true
		m.record(r, "approval_superseded")
	}
}

// sendCard puts a card on its way to those who may decide and have none.
func (m *model) sendCard(r *modelled) {
	for person := range m.roles {
		if !m.stands(person, r) || r.carded[person] {
			continue
		}
		if r.carded == nil {
			r.carded = map[string]bool{}
		}
		if r.carded[person] = true; r.card != "sent" {
			r.card = "on its way"
		}
	}
}

// escalate lets the users decide, too.
func (m *model) escalate(q *modelled) {
	if !q.open() || q.Escalated || q.Mode != approvals.Async {
		return
	}
	q.Escalated = true
	m.sendCard(q)
	m.record(q, "approval_escalated")
	for _, r := range append(m.duplicates(q), q) {
		if r.Status == approvals.Pending {
			m.tell(r, "approval_escalated")
		}
	}
}

func (m *model) undelivered(q *modelled) {
	waits := q.young && q.card != "failed"
	if !q.open() || q.Mode != approvals.Async || q.card == "sent" || q.card == "on its way" || waits {
		return
	}
	if !q.Undelivered {
		m.record(q, "approval_undelivered")
	}
	for _, r := range append(m.duplicates(q), q) {
		if r.Status == approvals.Pending && !r.Undelivered {
			r.Undelivered = true
			m.tell(r, "approval_undelivered")
		}
	}
}

func (m *model) arrives(q *modelled) {
	q.card = "sent"
	if q.Undelivered && q.Status == approvals.Pending {
		m.record(q, "approval_delivered")
	}
	for _, r := range append(m.duplicates(q), q) {
		if r.Status == approvals.Pending && r.Undelivered {
			r.Undelivered = false
			m.tell(r, "approval_delivered")
		}
	}
}

// endHold ends a hold whose time is over.
func (m *model) endHold(r *modelled) {
	h := r.hold
	if h == nil || !h.over || !r.open() {
		return
	}
	r.hold = nil
	if h.action == approvals.Reject && m.stands(h.by, r) {
		r.By = true
		m.endAll(r, approvals.Rejected)
	}
}

// review is what every look with the wish to decide does first: it gives the
// question, and the code of a refusal.
func (m *model) review(r *modelled, by string) (*modelled, string) {
	r = r.named()
	if !m.stands(by, r) {
		return r, "forbidden"
	}
	if r.hold != nil && r.hold.by != by {
		m.endHold(r)
	}
	return r, ""
}

// whyNot is the code of a move that came second or too late.
func (m *model) whyNot(r *modelled, by string) string {
	m.expire(r)
	switch {
	case r.Status == approvals.Expired:
		return "expired"
	case r.Status == approvals.Pending && r.hold != nil && r.hold.by != by:
		return "reason_awaited"
	case r.Status == approvals.Pending:
		return "reason_not_awaited"
	}
	return "already_decided"
}

// decide is an answer; held is the action whose hold it ends, 0 for none.
func (m *model) decide(r *modelled, by string, resolution policy.Resolution, held approvals.Action) string {
	r, code := m.review(r, by)
	if code != "" {
		return code
	}
	if r.Status != approvals.Pending {
		return m.whyNot(r, by)
	}
	again := resolution != "" && m.hasVoted(r, by)
	if again && len(m.counted(r)) < needed(r.rule) {
		return "already_voted"
	}
	if r.overdue || r.hold != nil && r.hold.by != by || held != 0 && (r.hold == nil || r.hold.action != held) {
		return m.whyNot(r, by)
	}
	r.hold = nil
	if resolution == "" {
		r.By = true
		m.endAll(r, approvals.Rejected)
		return ""
	}
	if !again {
		r.voters = append(r.voters, vote{by, resolution})
	}
	if needed(r.rule) > 1 {
		m.record(r, "approval_vote")
	}
	counted := m.counted(r)
	if len(counted) < needed(r.rule) {
		return ""
	}
	counted = append(counted, vote{by, resolution})
	r.Resolution, r.By = policy.Persistent, true
	for _, v := range counted {
		if v.resolution == policy.Single || r.Resolution == policy.Persistent {
			r.Resolution = v.resolution
		}
	}
	r.Grants, r.Left = 1, 1
	if r.Resolution == policy.Once {
		r.Left = -1
	}
	if r.Resolution == policy.Persistent {
		r.row = m.open(r)
	}
	m.endAll(r, approvals.Approved)
	return ""
}

// open lets the requester of r through by a row of policy, which those of one
// rule share.
func (m *model) open(r *modelled) *row {
	if m.rows[r.rule] == nil || m.rows[r.rule].gone {
		m.rows[r.rule] = &row{users: map[string]bool{}}
	}
	m.rows[r.rule].users[r.requester] = true
	return m.rows[r.rule]
}

func (m *model) await(r *modelled, by string, action approvals.Action) string {
	r, code := m.review(r, by)
	switch {
	case code != "":
		return code
	case r.Status == approvals.Pending && action.Approves() && m.hasVoted(r, by) && len(m.counted(r)) < needed(r.rule):
		return "already_voted"
	case r.Status == approvals.Pending && r.hold != nil && r.hold.by == by && r.hold.action == action:
		return ""
	case !r.open() || r.hold != nil && r.hold.by != by:
		return m.whyNot(r, by)
	}
	r.hold = &hold{by: by, action: action}
	m.record(r, "approval_reason_awaited")
	return ""
}

func (m *model) drop(r *modelled, by string) string {
	r, code := m.review(r, by)
	if code == "" && r.Status == approvals.Pending && r.hold != nil && r.hold.by == by {
		r.hold = nil
		m.record(r, "approval_reason_dropped")
	}
	return code
}

func (m *model) cancel(r *modelled, by string) string {
	if by != admin && !m.owns(by) && !m.same(by, r.requester) {
		return "not_found"
	}
	if !r.open() {
		return m.whyNot(r, by)
	}
	r.By = true
	if r.question != nil {
		m.end(r, approvals.Cancelled)
		r.question.Asked--
		return ""
	}
	m.endAll(r, approvals.Cancelled)
	return ""
}

func (m *model) claim(r *modelled) bool {
	if r.Status != approvals.Approved || r.Claimed || !m.usable(r) {
		return false
	}
	m.use(r, 1)
	r.Claimed, r.process = true, m.living
	m.record(r, "call_claimed")
	return true
}

// use books n uses of the grant.
func (m *model) use(r *modelled, n int) {
	r.Uses += n
	if r.Left >= 0 {
		r.Left -= n
	}
}

// window is the request whose approval for some time covers the call.
func (m *model) window(c *modelled) (best *modelled) {
	for _, r := range m.list {
		same := r.args == c.args && r.rule == c.rule && r.version == c.version && m.same(r.requester, c.requester)
		if same && r.Claimed && (!r.Finished || r.Outcome == approvals.Unknown && !r.Told) {
			return nil // it runs, or nobody knows: a retry
		}
		covers := r.rule == c.rule && r.version == c.version && m.same(r.requester, c.requester) && (r.args == c.args || r.rule == "any arguments")
		if r.Resolution != policy.Once || r.question != nil || !covers || same && !r.Claimed || !m.usable(r) {
			continue
		}
		if best == nil || r.decided > best.decided {
			best = r
		}
	}
	return best
}

func (m *model) finish(r *modelled, process int, outcome approvals.Outcome) bool {
	if !r.Claimed || r.process != process || r.Finished && r.Outcome != approvals.Unknown {
		return false
	}
	r.Finished, r.Outcome = true, outcome
	for _, one := range append(m.duplicates(r), r) {
		if one.Status == approvals.Approved {
			m.tell(one, "approval_executed "+string(outcome))
		}
	}
	m.record(r, "call_finished")
	return true
}

func (m *model) release(r *modelled) {
	if r.Claimed && !r.Finished && r.process == m.living {
		m.use(r, -1)
		r.Claimed = false
		m.record(r, "call_released")
	}
}

func (m *model) hears(r *modelled) {
	ended := r.Status != approvals.Pending && r.Status != approvals.Approved || r.Finished
	r.Told = r.Told || ended
}

// revoke takes back what r has left.
func (m *model) revoke(r *modelled) string {
	switch {
	case m.lives(r):
		r.revoked = true
		m.record(r, "grant_revoked")
		if r.row != nil && r.row.users[r.requester] {
			delete(r.row.users, r.requester)
			r.row.gone = r.row.gone || len(r.row.users) == 0
		}
		return ""
	case r.Grants == 0:
		return "not_found"
	case r.revoked:
		return "already_revoked"
	}
	return "grant_over"
}

// lives tells whether r is in the list of grants.
func (m *model) lives(r *modelled) bool {
	if r.Grants == 0 || r.revoked {
		return false
	}
	if r.row != nil {
		return r.always()
	}
	return !r.old && !r.stopped && r.Left != 0
}

// always tells whether the row that r opened speaks for its requester.
func (r *modelled) always() bool { return !r.row.gone && r.row.users[r.requester] }

// deleteRows ends what left the rows, with them. It gives the code.
func (m *model) deleteRows() (code string) {
	code = "not_found"
	for _, r := range m.list {
		if r.row != nil && m.lives(r) {
			r.revoked = true
			m.record(r, "grant_revoked")
		}
	}
	for _, row := range m.rows {
		if !row.gone {
			row.gone, code = true, ""
		}
	}
	return code
}

func (m *model) handOver(r *modelled) {
	if r.Status == approvals.Pending && r.Mode == approvals.Realtime {
		r.Mode = approvals.Async
		m.record(r, "approval_handed_over")
		if m.sendCard(r); r.card == "" {
			m.undelivered(r)
		}
	}
}

// reconcile is the repair of everything, after a while.
func (m *model) reconcile() {
	for _, r := range m.list {
		if r.question == nil {
			m.expire(r)
		}
	}
	for _, r := range m.list {
		if r.question != nil && r.open() && !m.same(r.requester, r.question.requester) {
			r.By = true
			m.end(r, approvals.Cancelled)
			r.question.Asked--
		}
	}
	for _, r := range m.list {
		m.endHold(r)
	}
	for _, r := range m.list {
		if r.Claimed && !r.Finished && r.process != m.living {
			m.finish(r, r.process, approvals.Unknown)
		}
	}
	for _, r := range m.list {
		if r.question != nil {
			continue
		}
		m.undelivered(r)
	}
}
