package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// afterExit is how long the pipes of a child that has ended are read on: what
// it wrote is in them already, but a stray grandchild may hold them open.
const afterExit = time.Second

// stdioLink speaks newline-delimited JSON-RPC with a child process.
type stdioLink struct {
	*ending
	*router
	server string
	child  *process
	lines  *lines
	hide   *redactor
	outbox chan *frame
	tasks  sync.WaitGroup
	cancel context.CancelFunc
}

// frame is one line on its way to the child.
type frame struct {
	body   []byte
	unsent atomic.Bool // writing failed before its first byte
}

var _ link = (*stdioLink)(nil)

func startStdio(s Server, cfg Config, r *router, stderr *tail, hide *redactor) (*stdioLink, error) {
	child, err := startProcess(s, cfg.StopGrace)
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &stdioLink{
		ending: newEnding(), router: r, server: s.Name, child: child, hide: hide,
		lines: newLines(child.out, cfg.MaxMessage), outbox: make(chan *frame), cancel: cancel,
	}
	l.tasks.Go(func() { stderr.drain(child.err, hide) })
	l.tasks.Go(l.read)
	l.tasks.Go(l.watch)
	l.tasks.Go(func() { l.write(ctx) })
	l.tasks.Go(func() { l.sendNotes(ctx, l.post) })
	return l, nil
}

// watch ends the link when the child ends.
func (l *stdioLink) watch() {
	<-l.child.exited
	deadline := time.Now().Add(afterExit)
	_ = l.child.out.SetReadDeadline(deadline)
	_ = l.child.err.SetReadDeadline(deadline)
}

func (l *stdioLink) read() {
	for {
		line, err := l.lines.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
			l.oversize(long)
		case err != nil:
			l.because(l.endOfOutput(err))
			return
		default:
			l.takeLine(line)
		}
	}
}

func (l *stdioLink) endOfOutput(err error) error {
	select {
	case <-l.child.exited:
		if l.child.exit != nil {
			return fmt.Errorf("the server process ended: %w", l.child.exit)
		}
		return errors.New("the server process ended")
	case <-time.After(afterExit):
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server closed its output")
	}
	return errors.New("the output of the server cannot be read")
}

// takeLine routes the messages of a line. Servers print banners and log lines
// on stdout, against the specification: those are skipped and counted.
func (l *stdioLink) takeLine(line []byte) {
	if len(line) == 0 {
		return
	}
	all, err := parse(line)
	if err != nil {
		l.skipped()
	}
	for _, m := range all {
		if m != nil {
			l.route(m, nil)
		}
	}
}

// oversize fails the call whose answer was too large; the others go on.
func (l *stdioLink) oversize(long *tooLongError) {
	id, ok := long.id()
	f := l.flights.get(id)
	if !ok || f == nil {
		l.skipped()
		return
	}
	f.take(&message{id: json.RawMessage("0"), tooLong: long})
}

// write sends frames, one after the other, for as long as ctx lives.
func (l *stdioLink) write(ctx context.Context) {
	for {
		select {
		case f := <-l.outbox:
			if n, err := l.child.in.Write(f.body); err != nil {
				f.unsent.Store(n == 0)
				l.because(errors.New("the server does not take input any more"))
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// send hands a frame to the writer. An error means that no byte was written.
func (l *stdioLink) send(ctx context.Context, body []byte) (*frame, error) {
	f := &frame{body: append(oneLine(body), '\n')}
	select {
	case <-l.done:
		return nil, &UnavailableError{l.server, true, l.err}
	default:
	}
	select {
	case l.outbox <- f:
		return f, nil
	case <-l.done:
		return nil, &UnavailableError{l.server, true, l.err}
	case <-ctx.Done():
		return nil, &UnavailableError{l.server, true, context.Cause(ctx)}
	}
}

// oneLine puts blanks for line ends, which valid JSON has only between tokens.
func oneLine(body []byte) []byte {
	for i, b := range body {
		if b == '\n' || b == '\r' {
			body[i] = ' '
		}
	}
	return body
}

func (l *stdioLink) post(ctx context.Context, body []byte) error {
	_, err := l.send(ctx, body)
	return err
}

func (l *stdioLink) exchange(ctx context.Context, f *flight) (json.RawMessage, error) {
	box := newMailbox()
	f.take = box.push
	l.flights.add(f)
	defer l.flights.remove(f)
	sent, err := l.send(ctx, f.body())
	if err != nil {
		return nil, err
	}
	for {
		select {
		case <-box.ready:
		case <-ctx.Done():
			return nil, &LostError{l.server, context.Cause(ctx)}
		case <-l.done:
			return l.lastWords(f, box, sent)
		}
		if answer := open(f, box); answer != nil {
			return answer.answer(l.server, l.hide)
		}
	}
}

// open delivers the events in the box and returns the answer, nil if it has not come.
func open(f *flight, box *mailbox) *message {
	for _, m := range box.drain() {
		if m.isResponse() {
			return m
		}
		f.deliver(m)
	}
	return nil
}

// lastWords is the outcome of a call whose link is gone: an answer that came
// before the end still counts.
func (l *stdioLink) lastWords(f *flight, box *mailbox, sent *frame) (json.RawMessage, error) {
	if answer := open(f, box); answer != nil {
		return answer.answer(l.server, l.hide)
	}
	if sent.unsent.Load() {
		return nil, &UnavailableError{l.server, true, l.err}
	}
	return nil, &LostError{l.server, l.err}
}

func (l *stdioLink) confirm(ctx context.Context, body []byte) error { return l.post(ctx, body) }

// speak and listen: on stdio nothing depends on the version, and there is one
// stream for everything.
func (l *stdioLink) speak(string) {}

func (l *stdioLink) listen() {}

func (l *stdioLink) close() {
	l.because(errClosed)
	l.cancel()
	l.child.stop()
	l.tasks.Wait()
	l.child.closePipes()
}

// errClosed is the reason of links that were closed from our side.
var errClosed = errors.New("the connection was closed by the gateway")
