package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// keptLines is how many log lines an error about the server's end may show.
const keptLines = 8

// serverLog takes the server's standard error, passes each line to the logger and keeps the last.
type serverLog struct {
	logger *slog.Logger

	mu      sync.Mutex
	partial string
	last    []string
}

func newServerLog(logger *slog.Logger) *serverLog { return &serverLog{logger: logger} }

// Write never fails: a full log must not stop the database.
func (l *serverLog) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(l.partial+string(data), "\n")
	l.partial = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		l.keep(line)
	}
	return len(data), nil
}

// sessionEnded is what the server says of each session that an orderly stop
// ends; it is no trouble.
const sessionEnded = "FATAL:  terminating connection due to administrator command"

func (l *serverLog) keep(line string) {
	l.last = append(l.last, line)
	l.last = l.last[max(0, len(l.last)-keptLines):]
	switch {
	case strings.HasPrefix(line, "PANIC:"):
		l.logger.Error("embedded database", "line", line)
	case strings.HasPrefix(line, "FATAL:") && line != sessionEnded:
		l.logger.Warn("embedded database", "line", line)
	default:
		l.logger.Debug("embedded database", "line", line)
	}
}

func (l *serverLog) contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.last, "\n"), text)
}

func (l *serverLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.partial = nil, ""
}

// explain adds the server's last words to how its process ended.
func (l *serverLog) explain(err error) error {
	if err == nil {
		err = errors.New("exit status 0")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return err
	}
	return fmt.Errorf("%w; its last words: %s", err, strings.Join(l.last, " | "))
}
