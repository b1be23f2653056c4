package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// edge is how much of the start and of the end of an oversize message is kept,
// in bytes, to find out whose answer it was.
const edge = 4 << 10

// tooLongError is a message above the limit, of which only the edges are left.
// The reader stands behind it: the connection lives on.
type tooLongError struct {
	limit      int
	head, tail []byte
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("a message is larger than the limit of %d MiB", max(1, e.limit>>20))
}

var (
	idAtStart = regexp.MustCompile(`^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+)\s*,`)
	idAtEnd   = regexp.MustCompile(`"id"\s*:\s*(\d+)\s*\}\s*$`)
)

// id is the request the message answered, where its edges tell: servers write
// the id right at the start or right at the end.
func (e *tooLongError) id() (int64, bool) {
	for _, found := range [][][]byte{idAtStart.FindSubmatch(e.head), idAtEnd.FindSubmatch(e.tail)} {
		if found != nil {
			id, err := strconv.ParseInt(string(found[1]), 10, 64)
			return id, err == nil
		}
	}
	return 0, false
}

// lines reads lines of any length up to limit bytes.
type lines struct {
	in    *bufio.Reader
	limit int
}

func newLines(in io.Reader, limit int) *lines {
	return &lines{bufio.NewReaderSize(in, 64<<10), limit}
}

// next is the next line without its end; the caller owns it. A last line
// without an end counts. Errors: *tooLongError (go on reading), io.EOF, others.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) > l.limit {
			return nil, l.skip(line, part, err)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(line) == 0 {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// skip goes to the end of an oversize line.
func (l *lines) skip(line, part []byte, err error) error {
	long := &tooLongError{limit: l.limit}
	long.head = append(long.head, line[:min(edge, len(line))]...)
	long.head = append(long.head, part[:min(edge-len(long.head), len(part))]...)
	for {
		long.tail = append(long.tail, part...)
		long.tail = append([]byte(nil), long.tail[max(0, len(long.tail)-edge):]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return long
		}
		part, err = l.in.ReadSlice('\n')
	}
}
