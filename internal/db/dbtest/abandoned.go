package dbtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// abandoned is the age at which a test database on a shared server belongs to no live test.
const abandoned = 24 * time.Hour

// dropAbandoned removes databases of test processes that were killed: all on a server of our own,
// old ones on a shared server.
func (s *server) dropAbandoned(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, testPrefix)
	if err != nil {
		return fmt.Errorf("list databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list databases: %w", err)
	}
	for _, name := range names {
		if s.own == nil && time.Since(madeAt(name)) < abandoned {
			continue
		}
		if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`); err != nil {
			return fmt.Errorf("drop abandoned database: %w", err)
		}
	}
	return nil
}

// madeAt reads the time in a test database's name; a name of another form counts as new.
func madeAt(name string) time.Time {
	stamp, _, _ := strings.Cut(strings.TrimPrefix(name, testPrefix), "_")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return time.Now()
	}
	return time.Unix(seconds, 0)
}
