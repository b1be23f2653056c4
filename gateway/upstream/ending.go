package upstream

import "sync"

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

// cause is nil before the end.
func (e *ending) cause() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}
