// Package caught turns a panic into a failure of the one thing that was being
// done: it is logged at ERROR with its stack, once, and everything else goes on.
// What the caller is told belongs to each edge.
package caught

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"holm/internal/fault"
)

// failure is what a panic became. It was logged already.
var failure = fault.New(fault.Internal, "internal", "Holm failed; its log says why")

// Is tells whether err is a panic that was caught and logged here.
func Is(err error) bool { return errors.Is(err, failure) }

// Err is for defer: it makes a panic the error of the function that defers it.
func Err(log *slog.Logger, where string, err *error) {
	if p := recover(); p != nil {
		*err = report(log, where, p)
	}
}

// report logs a panic from within the deferred function that recovered it.
// http.ErrAbortHandler is how a handler cuts off its own answer: no failure.
func report(log *slog.Logger, where string, p any) error {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	log.Error("a panic was caught", "where", where, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return failure
}

// Do gives the result of do, or the panic that ended it as an error.
func Do[T any](log *slog.Logger, where string, do func() (T, error)) (result T, err error) {
	defer Err(log, where, &err)
	return do()
}

// Go runs do in a goroutine of wg. A panic ends this one alone.
func Go(wg *sync.WaitGroup, log *slog.Logger, where string, do func()) {
	wg.Go(func() { Run(log, where, do) })
}

// Run runs do; ok is false when a panic ended it.
func Run(log *slog.Logger, where string, do func()) (ok bool) {
	_, err := Do(log, where, func() (none struct{}, _ error) { do(); return none, nil })
	return err == nil
}

// again is the pause before a part that panicked is begun anew.
const again = time.Second

// Keep runs a part of the process that only its context ends, in a goroutine of
// wg. After a panic it is begun anew.
func Keep(wg *sync.WaitGroup, log *slog.Logger, where string, run func()) {
	wg.Go(func() {
		for !Run(log, where, run) {
			time.Sleep(again)
		}
	})
}
