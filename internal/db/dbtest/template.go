package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/internal/db"
	"holm/migrations"
)

const (
	templatePrefix = "holm_template_"
	// templateLock is the advisory lock under which a template is made.
	templateLock int64 = 0x686f6c6d74
)

// prepareTemplate makes the migrated database that tests clone, unless it exists for these very
// migrations. The template mark is set last, so one that was cut off is made again.
func (s *server) prepareTemplate(ctx context.Context, conn *pgx.Conn) error {
	var err error
	if s.template, err = templateName(); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock); err != nil {
		return fmt.Errorf("lock template: %w", err)
	}
	var ready bool
	const find = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)`
	if err := conn.QueryRow(ctx, find, s.template).Scan(&ready); err != nil {
		return fmt.Errorf("find template: %w", err)
	}
	if ready {
		return nil
	}
	if s.own != nil {
		if err := dropTemplates(ctx, conn); err != nil {
			return err
		}
	}
	return s.makeTemplate(ctx, conn)
}

func (s *server) makeTemplate(ctx context.Context, conn *pgx.Conn) error {
	for _, sql := range []string{
		`DROP DATABASE IF EXISTS ` + s.template + ` WITH (FORCE)`,
		`CREATE DATABASE ` + s.template + ` TEMPLATE template0`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("make template: %w", err)
		}
	}
	if err := migrateAt(ctx, s.urlOf(s.template)); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `ALTER DATABASE `+s.template+` WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`); err != nil {
		return fmt.Errorf("finish template: %w", err)
	}
	return nil
}

func migrateAt(ctx context.Context, url string) error {
	pool, err := db.Open(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	return db.Migrate(ctx, pool)
}

// dropTemplates removes the templates of other migrations from a server of our own.
func dropTemplates(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, templatePrefix)
	if err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	for _, name := range names {
		quoted := pgx.Identifier{name}.Sanitize()
		_, unmark := conn.Exec(ctx, `ALTER DATABASE `+quoted+` WITH IS_TEMPLATE false`)
		_, drop := conn.Exec(ctx, `DROP DATABASE `+quoted+` WITH (FORCE)`)
		if err := errors.Join(unmark, drop); err != nil {
			return fmt.Errorf("drop old template: %w", err)
		}
	}
	return nil
}

// templateName depends on all that decides the schema: Holm's migration files and River's.
func templateName() (string, error) {
	river := riverpgxv5.New(nil)
	sum := sha256.New()
	for _, steps := range []fs.FS{migrations.FS, river.GetMigrationFS(riverdriver.MigrationLineMain)} {
		if err := hashFiles(sum, steps); err != nil {
			return "", fmt.Errorf("read migrations: %w", err)
		}
	}
	return templatePrefix + hex.EncodeToString(sum.Sum(nil)[:10]), nil
}

func hashFiles(sum io.Writer, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
}
