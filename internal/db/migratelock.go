package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/embedded"
)

const (
	// migrateLock is the key of the advisory lock around all migrations: "holm" in ASCII.
	migrateLock int64 = 0x686f6c6d
	// lockPoll is how often the lock is tried. Waiting inside pg_advisory_lock would hold a
	// snapshot, for which CREATE INDEX CONCURRENTLY in the holder's migration would wait in turn.
	lockPoll = 50 * time.Millisecond
)

// errTooOld is returned for a server older than embedded.MinMajor.
var errTooOld = errors.New("database server is too old")

// underLock runs do while a connection of its own holds the migration lock. River's migrator takes
// no lock, and goose's would cover only its own steps. The lock ends with the connection.
func underLock(ctx context.Context, pool *pgxpool.Pool, do func() error) error {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connect for migrations: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := checkVersion(ctx, conn); err != nil {
		return err
	}
	if err := lockMigrations(ctx, conn); err != nil {
		return fmt.Errorf("wait for other migrations: %w", err)
	}
	return do()
}

func lockMigrations(ctx context.Context, conn *pgx.Conn) error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		var locked bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, migrateLock).Scan(&locked); err != nil {
			return err
		}
		if locked {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func checkVersion(ctx context.Context, conn *pgx.Conn) error {
	var number string
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')`).Scan(&number); err != nil {
		return fmt.Errorf("ask server version: %w", err)
	}
	return requireVersion(number)
}

// requireVersion takes server_version_num, such as 150018 for 15.18.
func requireVersion(number string) error {
	version, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("read server version %q: %w", number, err)
	}
	if major := version / 10000; major < embedded.MinMajor {
		return fmt.Errorf("%w: it is PostgreSQL %d, and Holm needs %d or newer", errTooOld, major, embedded.MinMajor)
	}
	return nil
}
