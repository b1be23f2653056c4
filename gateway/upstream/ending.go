package upstream

import (
	"errors"
	"log/slog"
	"sync"

	"holm/internal/caught"
)

// ending is the one-time end of a link, with its reason.
type ending struct {
	once sync.Once
	done chan struct{}
	err  error
}

func newEnding() *ending { return &ending{done: make(chan struct{})} }

// because ends it; only the first reason counts.
func (e *ending) because(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.done)
	})
}

func (e *ending) lost() <-chan struct{} { return e.done }

// errPanicked is the reason of links whose reader or writer failed in Holm.
var errPanicked = errors.New("failed inside Holm while it spoke with the server; the log of Holm says why")

// task runs do in a goroutine of wg; a panic there ends the link.
func (e *ending) task(wg *sync.WaitGroup, log *slog.Logger, do func()) {
	wg.Go(func() {
		if !caught.Run(log, "upstream link", do) {
			e.because(errPanicked)
		}
	})
}

// cause is nil before the end.
func (e *ending) cause() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}
