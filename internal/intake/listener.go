package intake

import (
	"io"
	"net"
	"sync"
	"time"
)

// Listen bounds the connections of l. One too many is told so and closed: it
// would otherwise wait, and every other with it.
func Listen(l net.Listener, most int) net.Listener {
	return &listener{Listener: l, slots: make(chan struct{}, most)}
}

type listener struct {
	net.Listener
	slots chan struct{}
}

// full is the whole answer to a connection too many.
const full = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n" +
	"Content-Length: 46\r\n\r\nHolm has too many connections; try again soon\n"

// Accept gives the next connection for which there is room.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &conn{Conn: c, free: func() { <-l.slots }}, nil
		default:
			l.refuse(c)
		}
	}
}

// refuse answers within what the socket buffers.
func (l *listener) refuse(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c, full)
	_ = c.Close()
}

// conn gives its place back when it is closed.
type conn struct {
	net.Conn
	once sync.Once
	free func()
}

// CloseWrite lets the server end its answer before the caller has sent all.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.free)
	return err
}
