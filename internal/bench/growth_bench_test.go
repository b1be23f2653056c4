//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

const (
	// finished is how many requests of the past lie beside those that are measured.
	finished = 1_000_000
	// pastRequesters is how many requesters of each agent asked them: the same
	// that ask now.
	pastRequesters = 100
	// growthRound is how often a round does an operation in each database.
	growthRound = 64
	// openNow is how many questions are open while lists are read.
	openNow = 100
)

// growthOps are what is compared. before prepares a round, outside the measured
// time, and gives what do works on.
var growthOps = []struct {
	name   string
	before func(d *desk, b *testing.B) []approvals.Request
	do     func(d *desk, open []approvals.Request, i int) error
}{
	{"ask", (*desk).noneOpen, func(d *desk, _ []approvals.Request, _ int) error {
		_, err := d.ask()
		return err
	}},
	{"decide", func(d *desk, b *testing.B) []approvals.Request {
		d.noneOpen(b)
		return d.askMany(b, growthRound)
	}, func(d *desk, open []approvals.Request, i int) error { return d.decide(open[i]) }},
	{"list-pending", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		return d.list(i, approvals.Filter{Status: approvals.Pending})
	}},
	{"list-mine", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		return d.list(i, approvals.Filter{Status: approvals.Pending, ReviewerID: d.owners[i%len(d.owners)]})
	}},
	{"list-newest", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		return d.list(i, approvals.Filter{Limit: openNow / manyAgents})
	}},
	{"list-requester", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		return d.list(i, approvals.Filter{RequesterID: fmt.Sprintf("user-%d-0", i%len(d.agents)), Limit: 1})
	}},
	{"list-guest", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		return d.list(i, approvals.Filter{SeenBy: fmt.Sprintf("user-%d-0", i%len(d.agents))})
	}},
	{"list-owner", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		return d.list(i, approvals.Filter{SeenBy: d.owners[i%len(d.owners)], Limit: openNow / manyAgents})
	}},
	{"by-short", (*desk).someOpen, func(d *desk, open []approvals.Request, i int) error {
		r := open[i%len(open)]
		_, err := approvals.GetShort(context.Background(), d.pool, r.AgentID, r.ShortID)
		return err
	}},
	{"sessions", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		_, err := session.List(context.Background(), d.pool, d.agents[i%len(d.agents)], "", 1)
		return err
	}},
	{"reconcile", (*desk).someOpen, func(d *desk, _ []approvals.Request, i int) error {
		if i%(growthRound/2) != 0 { // twice a round: it is periodic
			return nil
		}
		return (&approvals.ReconcileWorker{Service: d.service}).Work(context.Background(), nil)
	}},
}

// BenchmarkGrowth measures what people and agents do beside a million finished
// requests, with their events, grants, cards and taps, against the same in an
// empty database. A round does each in the one and then in the other, so that what
// else the machine does meets both; the figures are the medians of the rounds.
// Filling takes minutes and some 5 GB below /tmp, which go with the benchmark.
func BenchmarkGrowth(b *testing.B) {
	empty, grown := newDesk(b, manyAgents), newDesk(b, manyAgents)
	empty.addOwners(b)
	grown.addOwners(b)
	grown.fill(b, finished)
	for _, op := range growthOps {
		b.Run(op.name, func(b *testing.B) {
			each := map[*desk][]time.Duration{}
			for round := range b.N + 1 { // the first one plans the statements
				for _, d := range []*desk{empty, grown} {
					open := op.before(d, b)
					began := time.Now()
					together(b, growthRound, func(i int) error { return op.do(d, open, i) })
					if round > 0 {
						each[d] = append(each[d], time.Since(began)/growthRound)
					}
				}
			}
			small, large := median(each[empty]), median(each[grown])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(small.Seconds()*1000, "empty-ms")
			b.ReportMetric(large.Seconds()*1000, "grown-ms")
			b.ReportMetric(large.Seconds()/small.Seconds(), "x-empty")
		})
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func (d *desk) list(i int, f approvals.Filter) error {
	_, err := approvals.List(context.Background(), d.pool, d.agents[i%len(d.agents)], f)
	return err
}

// noneOpen takes away what earlier rounds left open.
func (d *desk) noneOpen(b *testing.B) []approvals.Request {
	b.Helper()
	_, err := d.pool.Exec(context.Background(), `DELETE FROM approval_requests WHERE status = 'pending'`)
	must(b, err)
	return nil
}

func (d *desk) someOpen(b *testing.B) []approvals.Request {
	b.Helper()
	d.noneOpen(b)
	return d.askMany(b, openNow)
}

// addOwners gives each agent one, who is sent cards that nobody delivers.
func (d *desk) addOwners(b *testing.B) {
	b.Helper()
	ctx := context.Background()
	must(b, db.InTx(ctx, d.pool, func(tx pgx.Tx) error {
		for i, name := range d.agents {
			user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: "telegram", Identity: fmt.Sprint(7000 + i)}, "An Owner")
			if err != nil {
				return err
			}
			if err := identity.Join(ctx, tx, name, user.ID, policy.Owner, "bench"); err != nil {
				return err
			}
			d.owners = append(d.owners, user.ID)
		}
		return nil
	}))
}

// past fills a database with copies of requests that went the whole way, one of
// each agent, as if one had been asked every half minute.
var past = []string{
	`CREATE UNLOGGED TABLE model AS
	SELECT r.*, row_number() OVER (ORDER BY r.agent_id) - 1 AS place,
	       format('user-%s', split_part(r.agent_id, '-', 2)) AS who
	FROM approval_requests r`,
	`INSERT INTO sessions (id, agent_id, kind, requester_id, created_at)
	SELECT format('key:%s-%s', m.who, k), m.agent_id, 'key', format('%s-%s', m.who, k), now() - interval '1 year'
	FROM model m
	CROSS JOIN generate_series(0, $2 - 1) k
	WHERE $1 > 0
	ON CONFLICT DO NOTHING`,
	`CREATE UNLOGGED TABLE plan AS
	SELECT n, m.place, m.id AS model, at, format('%s-%s', m.who, n / $3 % $2) AS requester,
	       overlay(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') PLACING '-' FROM 9 FOR 0) || format('-7000-8000-%s', lpad(n::text, 12, '0')) AS id
	FROM generate_series(1, $1) n
	CROSS JOIN LATERAL (SELECT now() - make_interval(secs => 30 * ($1 - n) + 7200) AS at) t
	JOIN model m ON m.place = n % $3`,
	`INSERT INTO approval_requests
	SELECT copy.*
	FROM plan p
	JOIN approval_requests r ON r.id = p.model
	CROSS JOIN LATERAL jsonb_populate_record(r, jsonb_build_object(
	    'id', p.id, 'short_id', 1000000 + p.n, 'args_digest', md5(p.n::text) || md5((p.n + 1)::text),
	    'requester_id', p.requester, 'session_id', 'key:' || p.requester,
	    'created_at', p.at, 'expires_at', p.at + interval '10 minutes', 'resolved_at', p.at + interval '1 minute',
	    'claimed_at', p.at + interval '1 minute', 'finished_at', p.at + interval '2 minutes', 'told_at', p.at + interval '2 minutes')) copy`,
	`INSERT INTO approval_grants
	SELECT copy.*
	FROM plan p
	JOIN approval_grants g ON g.request_id = p.model
	CROSS JOIN LATERAL jsonb_populate_record(g, jsonb_build_object(
	    'id', p.id, 'request_id', p.id, 'requester_id', p.requester, 'uses_left', 0, 'uses', 1,
	    'valid_until', p.at + interval '1 hour', 'created_at', p.at)) copy`,
	`INSERT INTO card_deliveries
	SELECT copy.*
	FROM plan p
	JOIN card_deliveries d ON d.request_id = p.model
	CROSS JOIN LATERAL jsonb_populate_record(d, jsonb_build_object(
	    'id', p.id, 'request_id', p.id, 'button_id', format('\x%s', md5(p.n::text)), 'state', 'sent',
	    'chat', d.identity, 'message', p.n, 'shown_hash', md5(p.n::text), 'created_at', p.at, 'sent_at', p.at)) copy`,
	`INSERT INTO session_events
	SELECT nextval('session_event_ids'), 'key:' || p.requester, e.agent_id, e.type, e.payload, p.at
	FROM (SELECT * FROM plan ORDER BY n) p
	JOIN approval_requests r ON r.id = p.model
	JOIN session_events e ON e.session_id = r.session_id`,
	`INSERT INTO inbox
	SELECT 'telegram', p.n, json_build_object('update_id', p.n, 'callback_query', r.args), p.at, p.at
	FROM plan p
	JOIN approval_requests r ON r.id = p.model`,
	`DROP TABLE plan, model`,
}

// fill stores finished requests with what each left behind.
func (d *desk) fill(b *testing.B, rows int) {
	b.Helper()
	ctx := context.Background()
	for _, r := range d.askMany(b, len(d.agents)) {
		must(b, d.decide(r))
		args, err := policy.ParseArgs(r.ArgsBytes)
		must(b, err)
		_, ok, err := d.service.Claim(ctx, r, d.call(slices.Index(d.agents, r.AgentID), r.RequesterID, args))
		must(b, err)
		if !ok {
			b.Fatal("an approved request could not be claimed")
		}
		must(b, d.service.Finish(ctx, r.ID, approvals.Succeeded, []byte(`{"content":[{"type":"text","text":"written"}]}`)))
		must(b, d.service.Told(ctx, r.ID))
	}
	_, err := d.pool.Exec(ctx, `UPDATE card_deliveries d SET shown_version = r.version FROM approval_requests r WHERE r.id = d.request_id`)
	must(b, err)
	conn, err := d.pool.Acquire(ctx)
	must(b, err)
	defer conn.Release()
	for _, statement := range past {
		began := time.Now()
		_, err := conn.Exec(ctx, statement, takes(statement, rows, pastRequesters, len(d.agents))...)
		must(b, err)
		b.Logf("%.40s: %s", statement, time.Since(began))
	}
	_, err = conn.Exec(ctx, `VACUUM ANALYZE`)
	must(b, err)
}

// takes are those of args that the statement has places for.
func takes(statement string, args ...any) []any {
	for n := len(args); n > 0; n-- {
		if strings.Contains(statement, fmt.Sprintf("$%d", n)) {
			return args[:n]
		}
	}
	return nil
}
