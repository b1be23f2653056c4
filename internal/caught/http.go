package caught

import (
	"log/slog"
	"net/http"
)

// Handler has answer tell the caller of a panic in next. An answer that had
// begun is cut off instead, so that nobody takes it for a whole one.
func Handler(log *slog.Logger, where string, next http.Handler, answer func(http.ResponseWriter)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		noted := &noted{ResponseWriter: w}
		if Run(log, where, func() { next.ServeHTTP(noted, r) }) {
			return
		}
		if noted.begun {
			panic(http.ErrAbortHandler)
		}
		answer(w)
	})
}

// noted knows whether anything of an answer was sent.
type noted struct {
	http.ResponseWriter
	begun bool
}

func (n *noted) WriteHeader(status int) {
	n.begun = true
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) Write(b []byte) (int, error) {
	n.begun = true
	return n.ResponseWriter.Write(b)
}

// Flush is for those who look for an http.Flusher.
func (n *noted) Flush() {
	n.begun = true
	_ = http.NewResponseController(n.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }
