// Package db opens the database, brings its schema up to date and runs transactions. It owns the
// connection and the order of migrations. Tables and their SQL belong to the packages that use
// them; the server process of a stand-alone Holm belongs to embedded.
package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// RiverSchema is the schema of River's tables, apart from Holm's own in public.
	RiverSchema = "river"

	applicationName = "holm"
	// defaultMaxConns lets some replicas share a server of PostgreSQL's default of 100
	// connections. pool_max_conns in the URL overrides it.
	defaultMaxConns       = 20
	defaultConnectTimeout = 5 * time.Second
)

var errURL = errors.New("database URL cannot be read: want postgres://user:password@host:port/database?name=value, with special characters of the password percent-encoded")

// Open returns a pool on the PostgreSQL server at url, after one answer from it. The URL's own
// parameters (pool_max_conns, connect_timeout, application_name, sslmode and so on) win over the
// defaults: 20 connections, 5 seconds, "holm". Errors never contain the password.
func Open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := poolConfig(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	return pool, nil
}

func poolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil || misread(config) {
		// The cause is dropped: it quotes pieces of the URL, and a password with an unescaped
		// character may be among them.
		return nil, errURL
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	params := config.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = applicationName
	}
	return config, nil
}

// misread reports that the end of a password has become the database or a parameter, which errors
// would show: an unescaped "/" or "?" in it ends the host part of the URL, and the "@" comes later.
func misread(config *pgxpool.Config) bool {
	for name := range config.ConnConfig.RuntimeParams {
		if strings.Contains(name, "@") {
			return true
		}
	}
	return strings.Contains(config.ConnConfig.Database, "@")
}
