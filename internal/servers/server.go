// Package servers keeps the registered upstream MCP servers. It owns the table
// servers; connections to them belong to gateway/upstream.
package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/secret"
	"holm/internal/wake"
)

// Changed is published when a server was added or removed.
const Changed = "servers"

// Server is how one upstream is reached: by a command (stdio) or at an address
// (Streamable HTTP). Env and Headers are kept sealed and never shown.
type Server struct {
	Name    string
	Command []string
	URL     string
	Env     map[string]string
	Headers map[string]string
	// Maps say which arguments of which tools name files and commands.
	Maps      []Map
	Version   int
	CreatedAt time.Time
	// Runs has the parts of what runs that were changed since the server was added,
	// each with the version in which it was last.
	Runs map[string]int
}

// Transport is "stdio" or "http".
func (s Server) Transport() string {
	if s.URL != "" {
		return "http"
	}
	return "stdio"
}

// Wire is a server as it is shown: names of variables and headers, no values.
type Wire struct {
	Name      string    `json:"name"`
	Transport string    `json:"transport"`
	Command   []string  `json:"command,omitempty"`
	URL       string    `json:"url,omitempty"`
	Env       []string  `json:"env"`
	Headers   []string  `json:"headers"`
	Maps      []Map     `json:"maps"`
	CreatedAt time.Time `json:"createdAt"`
}

// Wire gives s without its secrets.
func (s Server) Wire() Wire {
	return Wire{Name: s.Name, Transport: s.Transport(), Command: s.Command, URL: s.URL,
		Env: names(s.Env), Headers: names(s.Headers), Maps: append([]Map{}, s.Maps...), CreatedAt: s.CreatedAt}
}

func names(m map[string]string) []string {
	keys := []string{}
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// serverName keeps "__" free to divide server and tool in exposed names.
var (
	serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,39}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	// headerValue: RFC 9110, section 5.5, in ASCII.
	headerValue = regexp.MustCompile(`^[\t -~]*$`)
)

func (s Server) check() error {
	if !serverName.MatchString(s.Name) {
		return fault.Invalidf("server name %q: want a letter, then letters, digits or -, at most 40", s.Name)
	}
	if (len(s.Command) == 0 || s.Command[0] == "") == (s.URL == "") || len(s.Command) > 0 && s.URL != "" {
		return fault.Invalidf("server %q: want either a command or a url", s.Name)
	}
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fault.Invalidf("server %q: the url must begin with http:// or https:// and name a host", s.Name)
		}
		if u.User != nil {
			return fault.Invalidf("server %q: put credentials into a header, not into the url", s.Name)
		}
	}
	for _, word := range s.Command {
		if !utf8.ValidString(word) || strings.ContainsRune(word, 0) {
			return fault.Invalidf("server %q: the command has a character that no program can be given", s.Name)
		}
	}
	for name, value := range s.Env {
		if !envName.MatchString(name) {
			return fault.Invalidf("server %q: %q is not a name of an environment variable", s.Name, name)
		}
		if strings.ContainsRune(value, 0) {
			return fault.Invalidf("server %q: the value of %s has a character that no program can be given", s.Name, name)
		}
	}
	for name, value := range s.Headers {
		if !headerName.MatchString(name) {
			return fault.Invalidf("server %q: %q is not a name of a header", s.Name, name)
		}
		if !headerValue.MatchString(value) {
			return fault.Invalidf("server %q: the value of %s has a character that no header can carry", s.Name, name)
		}
	}
	for _, m := range s.Maps {
		if err := m.check(); err != nil {
			return err
		}
	}
	if s.URL == "" && len(s.Headers) > 0 || s.URL != "" && len(s.Env) > 0 {
		return fault.Invalidf("server %q: --env belongs to a command, --header to a url", s.Name)
	}
	return nil
}

// Store reads and writes servers.
type Store struct {
	Pool   *pgxpool.Pool
	Hub    *wake.Hub
	Secret *secret.Keeper

	changes atomic.Int64
}

type sealed struct {
	Env     map[string]string `json:"env,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Add registers a server; a name that is taken is a Conflict.
func (st *Store) Add(ctx context.Context, s Server, actor string) (Server, error) {
	if err := s.check(); err != nil {
		return Server{}, err
	}
	secrets, err := st.seal(s)
	if err != nil {
		return Server{}, err
	}
	err = db.InTx(ctx, st.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO servers (name, transport, command, url, secrets, maps)
			VALUES ($1, $2, $3, $4, $5, $6)`,
			s.Name, s.Transport(), append([]string{}, s.Command...), s.URL, secrets, append([]Map{}, s.Maps...))
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "23505" {
			return fault.New(fault.Conflict, "exists", "server %q exists already", s.Name)
		}
		if err != nil {
			return fmt.Errorf("store server: %w", err)
		}
		return audit.Write(ctx, tx, audit.Record{Kind: "server_added", Actor: actor, Data: s.Wire()})
	})
	if err != nil {
		return Server{}, err
	}
	st.changed()
	return st.Get(ctx, s.Name)
}

func (st *Store) seal(s Server) ([]byte, error) {
	plain, err := json.Marshal(sealed{s.Env, s.Headers})
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	return st.Secret.Seal("servers/"+s.Name, plain), nil
}

// Modify changes a server; change gets it as it is. The connection to it is
// made anew.
func (st *Store) Modify(ctx context.Context, name, actor string, change func(*Server)) (Server, error) {
	err := db.InTx(ctx, st.Pool, func(tx pgx.Tx) error {
		s, err := st.get(ctx, tx, name, `FOR UPDATE`)
		if err != nil {
			return err
		}
		before, ran := s.Wire(), s.parts()
		change(&s)
		if err := s.check(); err != nil {
			return err
		}
		s.note(ran)
		secrets, err := st.seal(s)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE servers
			SET transport = $2,
			    command = $3,
			    url = $4,
			    secrets = $5,
			    maps = $6,
			    runs = $7,
			    version = version + 1
			WHERE name = $1`,
			name, s.Transport(), append([]string{}, s.Command...), s.URL, secrets, append([]Map{}, s.Maps...), s.Runs)
		if err != nil {
			return fmt.Errorf("modify server: %w", err)
		}
		return audit.Write(ctx, tx, audit.Record{Kind: "server_modified", Actor: actor,
			Data: map[string]any{"before": before, "after": s.Wire()}})
	})
	if err != nil {
		return Server{}, err
	}
	st.changed()
	return st.Get(ctx, name)
}

// Remove forgets a server. also is what ends with it, in the same transaction, and
// comes after: policy and approvals are others' to know.
func (st *Store) Remove(ctx context.Context, name, actor string, also func(pgx.Tx) error) error {
	err := db.InTx(ctx, st.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM servers WHERE name = $1`, name)
		if err != nil {
			return fmt.Errorf("remove server: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fault.NotFoundf("no server %q", name)
		}
		if err := audit.Write(ctx, tx, audit.Record{Kind: "server_removed", Actor: actor, Data: map[string]any{"name": name}}); err != nil {
			return err
		}
		return also(tx)
	})
	if err == nil {
		st.changed()
	}
	return err
}

// Changes counts what this process has changed, so that who follows the servers
// can be waited for.
func (st *Store) Changes() int64 { return st.changes.Load() }

func (st *Store) changed() {
	st.changes.Add(1)
	st.Hub.Publish(Changed)
}

// Get reads one server.
func (st *Store) Get(ctx context.Context, name string) (Server, error) {
	return st.get(ctx, st.Pool, name, "")
}

func (st *Store) get(ctx context.Context, q db.Queryer, name, lock string) (Server, error) {
	list, err := st.read(ctx, q, name, lock)
	if err != nil {
		return Server{}, err
	}
	if len(list) == 0 {
		return Server{}, fault.NotFoundf("no server %q", name)
	}
	return list[0], nil
}

// List gives all servers by name.
func (st *Store) List(ctx context.Context) ([]Server, error) {
	return st.read(ctx, st.Pool, "", "")
}

// Names gives the names of all servers, in order.
func Names(ctx context.Context, q db.Queryer) ([]string, error) {
	rows, err := q.Query(ctx, `
		SELECT name
		FROM servers
		ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read names of servers: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (st *Store) read(ctx context.Context, q db.Queryer, name, lock string) ([]Server, error) {
	rows, err := q.Query(ctx, `
		SELECT name, command, url, secrets, maps, version, created_at, runs
		FROM servers
		WHERE $1 = '' OR name = $1
		ORDER BY name
		`+lock, name)
	if err != nil {
		return nil, fmt.Errorf("read servers: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Server, err error) {
		var box []byte
		if err := row.Scan(&s.Name, &s.Command, &s.URL, &box, &s.Maps, &s.Version, &s.CreatedAt, &s.Runs); err != nil {
			return s, err
		}
		plain, err := st.Secret.Open("servers/"+s.Name, box)
		if err != nil {
			return s, err
		}
		var open sealed
		err = json.Unmarshal(plain, &open)
		s.Env, s.Headers = open.Env, open.Headers
		return s, err
	})
}
