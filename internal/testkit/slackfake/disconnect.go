package slackfake

func goodbye(reason string) answer {
	return answer{"type": "disconnect", "reason": reason, "debug_info": answer{"host": "applink-fake"}}
}

// Disconnect sends app n's sockets a disconnect message with reason: "warning",
// "refresh_requested" or "link_disabled". All but a warning end the socket.
func (s *Server) Disconnect(n int, reason string) {
	s.eachSocket(n, func(k *socket) {
		k.leaving = k.leaving || reason != "warning"
		k.say(goodbye(reason))
	})
}

// HangUp closes app n's sockets without a word.
func (s *Server) HangUp(n int) { s.eachSocket(n, (*socket).hangUp) }

// GoSilent leaves app n's sockets half open: they send nothing, not even
// pings, and hear nothing.
func (s *Server) GoSilent(n int) {
	s.eachSocket(n, func(k *socket) { k.silent, k.leaving = true, true })
}

func (s *Server) eachSocket(n int, f func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.apps[n].sockets {
		f(k)
	}
}

// Sockets is how many sockets app n has open.
func (s *Server) Sockets(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.apps[n].sockets)
}

// WaitSockets waits until app n has as many sockets that may receive.
func (s *Server) WaitSockets(n, count int) {
	s.t.Helper()
	s.await("sockets of the app", func() bool { return len(s.apps[n].receivers()) == count })
}

// receivers are the sockets that may get an envelope.
func (a *app) receivers() []*socket {
	var open []*socket
	for k := range a.sockets {
		if !k.leaving {
			open = append(open, k)
		}
	}
	return open
}
