package db_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
)

var writeSchema = flag.Bool("write-schema", false, "write docs/schema.txt instead of comparing with it")

const schemaFile = "../../docs/schema.txt"

// TestSchemaDumpIsTrue compares docs/schema.txt with the migrated database.
// Rewrite it with: go test ./internal/db -run SchemaDump -write-schema
func TestSchemaDumpIsTrue(t *testing.T) {
	got := dump(t, dbtest.DB(t))
	if *writeSchema {
		if err := os.WriteFile(schemaFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// dump tells of every table what a reader of the code wants to know.
func dump(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	var out strings.Builder
	for _, table := range lines(t, pool, `
		SELECT relname::text FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'goose%'
		ORDER BY relname`) {
		fmt.Fprintf(&out, "%s\n", table)
		for _, query := range []string{`
			SELECT format('  %s %s%s%s', attname, format_type(atttypid, atttypmod),
			              CASE WHEN attnotnull THEN ' not null' ELSE '' END,
			              COALESCE(' default ' || pg_get_expr(d.adbin, d.adrelid), ''))
			FROM pg_attribute a
			LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
			WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY a.attnum`, `
			SELECT format('  %s: %s', conname, pg_get_constraintdef(oid)) FROM pg_constraint
			WHERE conrelid = $1::regclass AND contype <> 'n' ORDER BY contype DESC, conname`, `
			SELECT format('  %s', regexp_replace(pg_get_indexdef(indexrelid), 'CREATE (UNIQUE )?INDEX (\S+) ON \S+ USING', '\2: \1index'))
			FROM pg_index i
			WHERE indrelid = $1::regclass
			  AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
			ORDER BY indexrelid::regclass::text`, `
			SELECT format('  %s: %s', tgname, pg_get_triggerdef(oid)) FROM pg_trigger
			WHERE tgrelid = $1::regclass AND NOT tgisinternal ORDER BY tgname`} {
			for _, line := range lines(t, pool, query, table) {
				fmt.Fprintln(&out, line)
			}
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

func lines(t *testing.T, pool *pgxpool.Pool, query string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}
