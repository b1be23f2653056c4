package upstream

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
)

// What is kept of a child's stderr: the last lines, each cut, in bytes.
const (
	tailLines = 100
	tailWidth = 1 << 10
)

// tail is the end of a text stream.
type tail struct {
	mu    sync.Mutex
	lines []string
	next  int
}

// drain reads in to its end, however much comes: a pipe that nobody empties
// stops the server that writes to it.
func (t *tail) drain(in io.Reader, hide *redactor) {
	r := bufio.NewReaderSize(in, tailWidth)
	cut := false
	for {
		part, err := r.ReadSlice('\n')
		if len(part) > 0 && !cut {
			t.add(hide.text(strings.ToValidUTF8(strings.TrimRight(string(part), "\r\n"), "?")))
		}
		cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut {
			return
		}
	}
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) < tailLines {
		t.lines = append(t.lines, line)
		return
	}
	t.lines[t.next] = line
	t.next = (t.next + 1) % tailLines
}

// last returns the kept lines, oldest first.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]string(nil), t.lines[t.next:]...), t.lines[:t.next]...)
}
