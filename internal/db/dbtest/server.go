package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db/embedded"
)

const testPrefix = "holm_test_"

// server is the PostgreSQL server of this test process.
type server struct {
	base     *url.URL
	template string
	// copying is the clause that makes CREATE DATABASE quick on this server.
	copying string
	// own is the process started here, nil for a server given by HOLM_TEST_DATABASE_URL.
	own *embedded.Server

	mu   sync.Mutex
	idle []string // databases that Tx uses again
}

var (
	startOnce sync.Once
	shared    *server
	startErr  error
)

// started returns the server, which the first test that asks starts for the whole process.
func started(t testing.TB) *server {
	t.Helper()
	startOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		shared, startErr = start(ctx)
	})
	if startErr != nil {
		t.Fatalf("dbtest: %v", startErr)
	}
	return shared
}

func newServer(ctx context.Context, address string, own *embedded.Server) (*server, error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "postgres" && base.Scheme != "postgresql") {
		return nil, errors.New("HOLM_TEST_DATABASE_URL: want postgres://user:password@host:port/database")
	}
	s := &server{base: base, own: own}
	err = s.admin(ctx, func(conn *pgx.Conn) error {
		return errors.Join(s.chooseCopying(ctx, conn), s.dropAbandoned(ctx, conn), s.prepareTemplate(ctx, conn))
	})
	return s, err
}

// admin runs do on a short session, so that no connection and no goroutine stays behind.
func (s *server) admin(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.base.String())
	if err != nil {
		return fmt.Errorf("connect to test server: %w", err)
	}
	return errors.Join(do(conn), conn.Close(context.WithoutCancel(ctx)))
}

func (s *server) urlOf(name string) string {
	address := *s.base
	address.Path = "/" + name
	return address.String()
}

func (s *server) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.admin(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

// chooseCopying takes the file copy of PostgreSQL 15 and newer on a server of our own: the two
// checkpoints it needs cost nothing where nothing waits for the disk, and it halves the time.
func (s *server) chooseCopying(ctx context.Context, conn *pgx.Conn) error {
	if s.own == nil {
		return nil
	}
	var known bool
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int >= 150000`).Scan(&known); err != nil {
		return fmt.Errorf("ask server version: %w", err)
	}
	if known {
		s.copying = ` STRATEGY FILE_COPY`
	}
	return nil
}

func (s *server) clone() (string, error) { return s.create(s.template) }

func (s *server) create(template string) (string, error) {
	name := fmt.Sprintf("%s%d_%s", testPrefix, time.Now().Unix(), strings.ToLower(rand.Text()))
	return name, s.exec(`CREATE DATABASE ` + name + ` TEMPLATE ` + template + s.copying)
}

func (s *server) drop(name string) error {
	return s.exec(`DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)`)
}

// borrow returns a database in which nothing was ever committed.
func (s *server) borrow() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.idle) - 1; last >= 0 {
		name := s.idle[last]
		s.idle = s.idle[:last]
		return name, nil
	}
	return s.clone()
}

func (s *server) giveBack(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, name)
}
