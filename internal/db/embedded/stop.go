package embedded

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Times given to a server that is asked to end, step by step. SIGINT rolls back what is open and
// writes a checkpoint; SIGQUIT leaves crash recovery to the next start; SIGKILL is for a server
// that answers neither.
const (
	fastStop      = 10 * time.Second
	immediateStop = 10 * time.Second
	killStop      = 5 * time.Second
)

// Stop ends the server and gives the folder free. Open transactions are rolled back. When ctx ends
// before the server does, the server is told to stop at once; committed data is safe in any case.
// Further calls wait for the first and return what it returned.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		select {
		case <-s.process.done:
		default:
			s.stopping.Store(true)
		}
		s.stopErr = errors.Join(s.shutDown(ctx), s.release())
	})
	return s.stopErr
}

func (s *Server) shutDown(ctx context.Context) error {
	if s.process.end(ctx, syscall.SIGINT, fastStop) {
		return nil
	}
	after := context.WithoutCancel(ctx)
	if s.process.end(after, syscall.SIGQUIT, immediateStop) || s.process.end(after, syscall.SIGKILL, killStop) {
		return nil
	}
	return fmt.Errorf("embedded PostgreSQL: process %d does not end", s.process.pid())
}

// release gives back what a start took; the process is gone or was never there.
func (s *Server) release() error {
	s.watchdog.stop()
	return errors.Join(s.socket.remove(), s.lock.release())
}
