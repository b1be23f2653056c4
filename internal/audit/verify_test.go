package audit_test

import (
	"strings"
	"testing"

	"holm/internal/audit"
	"holm/internal/db/dbtest"
)

// Somebody with the database's own password can switch the trigger off; the
// chain shows what they did.
func TestTamperingIsFoundAndNamed(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"data":           {`UPDATE audit_log SET data = '"other"' WHERE seq = 3`, "record 3"},
		"actor":          {`UPDATE audit_log SET actor = 'user:x' WHERE seq = 3`, "record 3"},
		"kind":           {`UPDATE audit_log SET kind = 'other' WHERE seq = 3`, "record 3"},
		"agent":          {`UPDATE audit_log SET agent_id = 'other' WHERE seq = 3`, "record 3"},
		"time":           {`UPDATE audit_log SET at = at + interval '1 microsecond' WHERE seq = 3`, "record 3"},
		"hash":           {`UPDATE audit_log SET hash = '\x00' WHERE seq = 3`, "record 3"},
		"first removed":  {`DELETE FROM audit_log WHERE seq = 1`, "record 2"},
		"middle removed": {`DELETE FROM audit_log WHERE seq = 3`, "record 4"},
		"removed and renumbered": {`DELETE FROM audit_log WHERE seq = 5;
			UPDATE audit_log SET seq = 5 WHERE seq = 6`, "record 5"},
		"text moved between fields": {`UPDATE audit_log SET kind = 'tes', agent_id = 'tmain' WHERE seq = 3`, "record 3"},
		"swapped": {`UPDATE audit_log a SET data = b.data FROM audit_log b
			WHERE (a.seq, b.seq) IN ((3, 4), (4, 3))`, "record 3"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := dbtest.DB(t)
			for i := range 6 {
				write(t, pool, i)
			}
			chained(t, chainer(pool))
			verified(t, pool, 6)
			exec(t, pool, `ALTER TABLE audit_log DISABLE TRIGGER audit_log_append_only`)
			for sql := range strings.SplitSeq(c.sql, ";") {
				exec(t, pool, sql)
			}
			if _, err := audit.Verify(t.Context(), pool); err == nil || !strings.Contains(err.Error(), c.want+" ") {
				t.Errorf("%v, want an error about %s", err, c.want)
			}
		})
	}
}

func TestAnEmptyChainIsWhole(t *testing.T) {
	verified(t, dbtest.DB(t), 0)
}
