package embedded

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	// pollInterval is how often postmaster.pid is read; the server offers no other sign of
	// readiness that cannot be mistaken for an older server's.
	pollInterval = 5 * time.Millisecond
	// survivors is how long sessions of a killed server may take to see that it is gone.
	survivors = 15 * time.Second
)

// launch starts the server and waits until it answers. Sessions that outlived a killed server hold
// its shared memory for a moment; the start is repeated until they have ended.
func (s *Server) launch(ctx context.Context, bin binaries, stale int, fast bool) error {
	for deadline := time.Now().Add(survivors); ; {
		err := s.launchOnce(ctx, bin, stale, fast)
		if err == nil || !s.log.contains("pre-existing shared memory block") || time.Now().After(deadline) {
			return err
		}
		s.log.reset()
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *Server) launchOnce(ctx context.Context, bin binaries, stale int, fast bool) error {
	cmd := exec.Command(bin.postgres, serverArgs(s.cluster.path(), s.socket.path, fast)...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if stale != 0 {
		// The server takes this process for a relative of its own and not for a rival.
		cmd.Env = append(cmd.Env, "PG_GRANDPARENT_PID="+strconv.Itoa(stale))
	}
	child, err := s.cluster.launch(cmd, s.cluster.path(), syscall.SIGINT)
	if err != nil {
		return err
	}
	s.process = child
	if !kernelEndsOrphans {
		s.watchdog, err = startWatchdog(child.pid(), s.cluster.account)
	}
	if err = errors.Join(err, s.awaitReady(ctx)); err != nil {
		return errors.Join(err, s.abandon(ctx))
	}
	return nil
}

// abandon ends a server whose start failed.
func (s *Server) abandon(ctx context.Context) error {
	err := s.shutDown(context.WithoutCancel(ctx))
	s.watchdog.stop()
	s.watchdog = nil
	return err
}

// awaitReady waits until postmaster.pid names this child as ready. Recovery after a crash may take
// long and must not be cut off, so only ctx and the end of the child bound it.
func (s *Server) awaitReady(ctx context.Context) error {
	for {
		if file, err := s.cluster.readPidFile(); err == nil && file.pid == s.process.pid() && file.status == "ready" {
			return nil
		}
		select {
		case <-s.process.done:
			return s.log.explain(s.process.err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

func serverArgs(dir, socket string, fast bool) []string {
	settings := []string{
		"listen_addresses=",
		"unix_socket_directories=" + socket,
		"unix_socket_permissions=0700",
		"port=" + socketPort,
		"cluster_name=holm",
		"timezone=UTC",
		// The log goes to Holm's. No statement or row detail in it: they can hold arguments.
		"log_destination=stderr",
		"logging_collector=off",
		"log_line_prefix=",
		"log_min_messages=log",
		"log_min_error_statement=panic",
		"log_error_verbosity=terse",
	}
	if fast {
		settings = append(settings,
			"fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"wal_level=minimal", "max_wal_senders=0",
			"max_connections=400", "checkpoint_timeout=1h", "min_wal_size=32MB", "max_wal_size=128MB")
	}
	args := []string{"-D", dir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}
