package approvals_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/policy"
)

var statuses = []approvals.Status{
	approvals.Pending, approvals.Approved, approvals.Rejected, approvals.Expired, approvals.Cancelled,
}

var quoted = regexp.MustCompile(`'([a-z_]+)'`)

// allowed reads the words that the CHECK of one column takes.
func (w *world) allowed(table, column string) (words []string) {
	w.t.Helper()
	definitions := w.column(`
		SELECT pg_get_constraintdef(c.oid)
		FROM pg_constraint c
		JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
		WHERE c.contype = 'c'
		  AND c.conrelid = $1::regclass
		  AND cardinality(c.conkey) = 1
		  AND a.attname = $2`, table, column)
	if len(definitions) != 1 {
		w.t.Fatalf("%s.%s has the constraints %v, want one", table, column, definitions)
	}
	for _, match := range quoted.FindAllStringSubmatch(definitions[0], -1) {
		words = append(words, match[1])
	}
	slices.Sort(words)
	return words
}

func texts[T ~string](list ...T) (words []string) {
	for _, word := range list {
		words = append(words, string(word))
	}
	slices.Sort(words)
	return words
}

func TestTheDatabaseKnowsTheSameWords(t *testing.T) {
	w := newWorld(t)
	for column, want := range map[string][]string{
		"status":        texts(statuses...),
		"resolution":    texts(policy.Single, policy.Once, policy.Persistent),
		"extent":        texts(approvals.WholeTool, approvals.TheseArguments),
		"outcome":       texts(approvals.Succeeded, approvals.Failed, approvals.Unknown),
		"resource_type": texts(policy.TypeTool, policy.TypeFile, policy.TypeExec, policy.TypeMCP),
	} {
		if diff := cmp.Diff(want, w.allowed("approval_requests", column)); diff != "" {
			t.Errorf("%s (-code +database):\n%s", column, diff)
		}
	}
}

func TestOnlyAPendingRequestMoves(t *testing.T) {
	for _, from := range statuses {
		for _, to := range statuses {
			if want := from == approvals.Pending && to != approvals.Pending; approvals.CanMove(from, to) != want {
				t.Errorf("from %s to %s is %v", from, to, !want)
			}
		}
	}
	if approvals.CanMove("unheard of", approvals.Approved) {
		t.Error("a status that is none can move")
	}
}

// Rows that no history can have made are refused, whoever writes them.
func TestTheDatabaseRefusesImpossibleRows(t *testing.T) {
	w := newWorld(t)
	for name, set := range map[string]string{
		"approved without a resolution": `status = 'approved', resolved_at = now()`,
		"rejected with a resolution":    `status = 'rejected', resolution = 'once', resolved_at = now()`,
		"pending and resolved":          `resolved_at = now()`,
		"decided at no time":            `status = 'rejected'`,
		"claimed while pending":         `claimed_at = now()`,
		"finished without a claim":      `status = 'approved', resolution = 'once', resolved_at = now(), finished_at = now(), outcome = 'failed'`,
		"finished without an outcome":   `status = 'approved', resolution = 'once', resolved_at = now(), claimed_at = now(), finished_at = now()`,
		"an outcome before the end":     `status = 'approved', resolution = 'once', resolved_at = now(), claimed_at = now(), outcome = 'failed'`,
		"an extent of a single call":    `status = 'approved', resolution = 'single', resolved_at = now(), extent = 'tool'`,
		"a foreign word":                `status = 'maybe', resolved_at = now()`,
	} {
		r := w.ask(w.call(`{"for":"` + name + `"}`))
		if _, err := w.pool.Exec(ctx, `UPDATE approval_requests SET `+set+` WHERE id = $1`, r.ID); err == nil {
			t.Errorf("%s: stored", name)
		}
	}
	if _, err := w.pool.Exec(ctx, `INSERT INTO approval_requests
		(id, agent_id, short_id, session_id, requester_id, requester_name, resource_type, resource_key, args_bytes, args_digest, args_sha256, rule_id, rule_text, expires_at)
		SELECT id || 'x', agent_id, short_id + 1000, session_id, requester_id, requester_name, resource_type, resource_key, args_bytes, args_digest, args_sha256, rule_id, rule_text, expires_at
		FROM approval_requests`); err == nil {
		t.Error("one call has two open questions")
	}
}
