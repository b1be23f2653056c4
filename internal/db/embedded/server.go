// Package embedded runs a PostgreSQL server as a child process, from binaries found on this
// machine, so that Holm starts with nothing else set up. It owns the server's folder, its user,
// its socket and its end. What is inside the database belongs to package db.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Config says where the server keeps its data. Only DataDir is required.
type Config struct {
	// DataDir is Holm's data folder. The server uses postgres, postgres.lock and postgres-run
	// in it. It is created when missing.
	DataDir string
	// BinDir holds initdb and postgres (the setting HOLM_PG_BIN). Empty: search this machine.
	BinDir string
	// Logger receives the server's log lines, mostly at debug level. Nil: nothing is logged.
	Logger *slog.Logger
	// Fast gives up the data's safety for speed: nothing waits for the disk, and files from which
	// no server can start, as after a machine crash, are thrown away. For tests only.
	Fast bool
}

// Server is a running PostgreSQL server. Whoever started it calls Stop, also after Done.
type Server struct {
	cluster  cluster
	socket   socketDir
	lock     *lock
	process  *process
	watchdog *watchdog
	log      *serverLog

	stopping atomic.Bool
	stop     sync.Once
	stopErr  error
}

// Start returns a server that answers queries. A first start creates the database files. A server
// that an earlier Holm left behind is stopped first. While another process runs a server on the
// same folder the error is ErrInUse; without usable binaries it is ErrNoBinaries. Cancelling ctx
// ends the start, not a server that has started.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	server, err := start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start embedded PostgreSQL: %w", err)
	}
	return server, nil
}

func start(ctx context.Context, cfg Config) (*Server, error) {
	files, err := openCluster(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	held, err := acquireLock(files.lockPath())
	if err != nil {
		return nil, err
	}
	server := &Server{cluster: files, lock: held, log: newServerLog(cfg.Logger)}
	if err := server.run(ctx, cfg); err != nil {
		return nil, errors.Join(err, server.release())
	}
	return server, nil
}

// run brings the server up; the lock is held.
func (s *Server) run(ctx context.Context, cfg Config) error {
	bin, err := s.cluster.findBinaries(ctx, cfg.BinDir)
	if err != nil {
		return err
	}
	stale, err := s.cluster.endPrevious(ctx, cfg.Logger)
	if err != nil {
		return err
	}
	if s.socket, err = openSocketDir(s.cluster); err != nil {
		return err
	}
	err = s.bringUp(ctx, bin, stale, cfg.Fast)
	if err == nil || !cfg.Fast || ctx.Err() != nil {
		return err
	}
	if discardErr := s.cluster.discard(); discardErr != nil {
		return errors.Join(err, discardErr)
	}
	return s.bringUp(ctx, bin, 0, cfg.Fast)
}

func (s *Server) bringUp(ctx context.Context, bin binaries, stale int, fast bool) error {
	if err := s.cluster.create(ctx, bin, fast); err != nil {
		return err
	}
	return s.launch(ctx, bin, stale, fast)
}

// URL is the address of the server for pgx, over a unix socket that only this user (and root)
// can reach. It holds no secret.
func (s *Server) URL() string { return s.socket.url() }

// Done is closed when the server process has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Err tells why the server ended by itself. It is nil before Done and after Stop.
func (s *Server) Err() error {
	select {
	case <-s.process.done:
	default:
		return nil
	}
	if s.stopping.Load() {
		return nil
	}
	return fmt.Errorf("embedded PostgreSQL ended by itself: %w", s.log.explain(s.process.err))
}
