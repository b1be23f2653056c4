package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"holm/migrations"
)

// Migrate brings the schema up to date: River's tables, then Holm's. Any number of processes may
// call it at once; each step runs once. It needs a direct connection or a pooler in session mode.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	return migrate(ctx, pool, migrations.FS)
}

// Pending reports whether Migrate has something to do. It does not look at steps that are newer
// than this program, as during a rolling update.
func Pending(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	return pending(ctx, pool, migrations.FS)
}

// Down takes every step back, all data included. It is for tests of the migrations.
func Down(ctx context.Context, pool *pgxpool.Pool) error {
	return down(ctx, pool, migrations.FS)
}

func migrate(ctx context.Context, pool *pgxpool.Pool, steps fs.FS) error {
	return underLock(ctx, pool, func() error {
		if err := riverUp(ctx, pool); err != nil {
			return fmt.Errorf("migrate job tables: %w", err)
		}
		return withSteps(pool, steps, func(own *goose.Provider) error {
			if _, err := own.Up(ctx); err != nil {
				return fmt.Errorf("migrate tables: %w", err)
			}
			return nil
		})
	})
}

func down(ctx context.Context, pool *pgxpool.Pool, steps fs.FS) error {
	return underLock(ctx, pool, func() error {
		err := withSteps(pool, steps, func(own *goose.Provider) error {
			if _, err := own.DownTo(ctx, 0); err != nil {
				return fmt.Errorf("take tables back: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return riverDown(ctx, pool)
	})
}

func pending(ctx context.Context, pool *pgxpool.Pool, steps fs.FS) (waiting bool, err error) {
	jobs, err := riverMigrator(pool)
	if err != nil {
		return false, err
	}
	found, err := jobs.Validate(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("check job tables: %w", err)
	}
	// goose makes its version table when it only looks, so it is not asked about an empty database.
	if !found.OK {
		return true, nil
	}
	err = withSteps(pool, steps, func(own *goose.Provider) error {
		waiting, err = own.HasPending(ctx)
		if err != nil {
			return fmt.Errorf("check tables: %w", err)
		}
		return nil
	})
	return waiting, err
}

// withSteps hands a provider of Holm's own steps to use. goose wants database/sql, which takes its
// connections from the pool.
func withSteps(pool *pgxpool.Pool, steps fs.FS, use func(*goose.Provider) error) error {
	source := stdlib.OpenDBFromPool(pool)
	own, err := goose.NewProvider(goose.DialectPostgres, source, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return errors.Join(fmt.Errorf("read migrations: %w", err), source.Close())
	}
	return errors.Join(use(own), own.Close())
}

func riverMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	jobs, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{
		Schema: RiverSchema,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("prepare job migrations: %w", err)
	}
	return jobs, nil
}

func riverUp(ctx context.Context, pool *pgxpool.Pool) error {
	jobs, err := riverMigrator(pool)
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+RiverSchema); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	_, err = jobs.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func riverDown(ctx context.Context, pool *pgxpool.Pool) error {
	jobs, err := riverMigrator(pool)
	if err != nil {
		return err
	}
	if _, err := jobs.Migrate(ctx, rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1}); err != nil {
		return fmt.Errorf("take job tables back: %w", err)
	}
	if _, err := pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+RiverSchema); err != nil {
		return fmt.Errorf("drop schema of job tables: %w", err)
	}
	return nil
}
