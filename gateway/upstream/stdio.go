package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
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
	for _, task := range []func(){
		func() { stderr.drain(child.err, hide) }, l.read, l.watch,
		func() { l.write(ctx) }, func() { l.sendNotes(ctx, l.post) },
	} {
		l.task(&l.tasks, cfg.Logger, task)
	}
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
