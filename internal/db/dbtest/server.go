package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db/embedded"
)

const (
	testPrefix = "holm_test_"
	// abandoned is the age at which a test database on a shared server belongs to no live test.
	abandoned = 24 * time.Hour
)

// server is the PostgreSQL server of this test process.
type server struct {
	base     *url.URL
	template string
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
		return errors.Join(s.dropAbandoned(ctx, conn), s.prepareTemplate(ctx, conn))
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

func (s *server) clone() (string, error) { return s.create(s.template) }

func (s *server) create(template string) (string, error) {
	name := fmt.Sprintf("%s%d_%s", testPrefix, time.Now().Unix(), strings.ToLower(rand.Text()))
	return name, s.exec(`CREATE DATABASE ` + name + ` TEMPLATE ` + template)
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
