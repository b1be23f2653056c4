package audit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/audit"
	"holm/internal/db/dbtest"
)

// sixRecords are six records in a chain that somebody may change.
func sixRecords(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := dbtest.DB(t)
	for i := range 6 {
		write(t, pool, i)
	}
	chained(t, chainer(pool))
	verified(t, pool, 6)
	exec(t, pool, `ALTER TABLE audit_log DISABLE TRIGGER audit_log_append_only`)
	return pool
}

func change(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	for statement := range strings.SplitSeq(sql, ";") {
		exec(t, pool, statement)
	}
}

// Somebody with the database's own password can switch the trigger off; the
// chain shows what they did.
func TestTamperingIsFoundAndNamed(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want int64
	}{
		"data":          {`UPDATE audit_log SET data = '"other"' WHERE seq = 3`, 3},
		"actor":         {`UPDATE audit_log SET actor = 'user:x' WHERE seq = 3`, 3},
		"kind":          {`UPDATE audit_log SET kind = 'other' WHERE seq = 3`, 3},
		"agent":         {`UPDATE audit_log SET agent_id = 'other' WHERE seq = 3`, 3},
		"time":          {`UPDATE audit_log SET at = at + interval '1 microsecond' WHERE seq = 3`, 3},
		"hash":          {`UPDATE audit_log SET hash = '\x00' WHERE seq = 3`, 3},
		"hash before":   {`UPDATE audit_log SET prev_hash = '\x00' WHERE seq = 3`, 3},
		"number":        {`UPDATE audit_log SET seq = 60 WHERE seq = 6`, 60},
		"first removed": {`DELETE FROM audit_log WHERE seq = 1`, 2},
		"removed":       {`DELETE FROM audit_log WHERE seq = 3`, 4},
		"removed and renumbered": {`DELETE FROM audit_log WHERE seq = 5;
			UPDATE audit_log SET seq = 5 WHERE seq = 6`, 5},
		"removed, renumbered and linked": {`DELETE FROM audit_log WHERE seq = 5;
			UPDATE audit_log SET seq = 5, prev_hash = (SELECT hash FROM audit_log WHERE seq = 4) WHERE seq = 6`, 5},
		"text moved between fields": {`UPDATE audit_log SET kind = 'tes', agent_id = 'tmain' WHERE seq = 3`, 3},
		"swapped": {`UPDATE audit_log a SET data = b.data FROM audit_log b
			WHERE (a.seq, b.seq) IN ((3, 4), (4, 3))`, 3},
		"reordered": {`UPDATE audit_log SET seq = 100 WHERE seq = 3;
			UPDATE audit_log SET seq = 3 WHERE seq = 4;
			UPDATE audit_log SET seq = 4 WHERE seq = 100`, 3},
		"added before": {`INSERT INTO audit_log SELECT 0, at, kind, agent_id, actor, data, '', hash FROM audit_log WHERE seq = 1`, 0},
		"added between": {`UPDATE audit_log SET seq = seq + 100 WHERE seq > 3;
			UPDATE audit_log SET seq = seq - 99 WHERE seq > 100;
			INSERT INTO audit_log SELECT 4, at, kind, agent_id, actor, data, hash, sha256(hash) FROM audit_log WHERE seq = 3`, 4},
		"added at the end": {`INSERT INTO audit_log SELECT 7, at, kind, agent_id, actor, data, hash, sha256(hash) FROM audit_log WHERE seq = 6`, 7},
	} {
		t.Run(name, func(t *testing.T) {
			pool := sixRecords(t)
			change(t, pool, c.sql)
			r, err := audit.Verify(t.Context(), pool, audit.Anchor{})
			if err != nil || r.Broken == nil || r.Broken.Seq != c.want {
				t.Errorf("%+v, error %v; want record %d to be named", r.Broken, err, c.want)
			}
		})
	}
}

// A noted head shows what the chain alone cannot: that its end is gone, or
// that all of it was written anew.
func TestAnExpectedRecordIsMissed(t *testing.T) {
	pool := sixRecords(t)
	noted, err := audit.Verify(t.Context(), pool, audit.Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := audit.ParseAnchor(noted.Head.String())
	if err != nil {
		t.Fatal(err)
	}
	write(t, pool, "later")
	chained(t, chainer(pool))
	if r, err := audit.Verify(t.Context(), pool, head); err != nil || r.Broken != nil || r.Head.Seq != 7 {
		t.Errorf("a longer chain: %+v, %v", r, err)
	}
	change(t, pool, `DELETE FROM audit_log WHERE seq >= 6`)
	verified(t, pool, 5)
	if r, err := audit.Verify(t.Context(), pool, head); err != nil || r.Broken == nil || r.Broken.Seq != 6 {
		t.Errorf("a cut chain: %+v, %v", r, err)
	}
	write(t, pool, "another")
	chained(t, chainer(pool))
	verified(t, pool, 6)
	if r, err := audit.Verify(t.Context(), pool, head); err != nil || r.Broken == nil || r.Broken.Seq != 6 {
		t.Errorf("another end: %+v, %v", r, err)
	}
}

func TestAnchorsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "6", "6:", "6:zz", "-1:" + strings.Repeat("a", 64), "0:aa", "x:aa", "6:aa"} {
		if a, err := audit.ParseAnchor(text); err == nil {
			t.Errorf("%q was read as %v", text, a)
		}
	}
}

// An export holds all that is needed to check the chain.
func TestAnExportIsChecked(t *testing.T) {
	pool := dbtest.DB(t)
	for _, data := range []any{nil, "<&> \x00 \u2028", map[string]any{"n": 9007199254740993, "f": 1e300}} {
		write(t, pool, data)
	}
	chained(t, chainer(pool))
	entries, err := audit.List(t.Context(), pool, audit.Filter{Limit: 10})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d records, error %v", len(entries), err)
	}
	walk := audit.NewWalk(audit.Anchor{})
	for _, e := range entries {
		text, err := json.Marshal(e.OnWire())
		if err != nil {
			t.Fatal(err)
		}
		var read audit.Wire
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		back, err := read.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if err := walk.Add(back); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEmptyChainIsWhole(t *testing.T) {
	verified(t, dbtest.DB(t), 0)
}
