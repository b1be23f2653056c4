package slackfake

import (
	"encoding/json"

	"github.com/gorilla/websocket"
)

// listen reads acknowledgements until the connection ends.
func (s *Server) listen(k *socket) {
	for {
		kind, data, err := k.conn.ReadMessage()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			s.t.Errorf("slackfake: a frame that is not text")
			continue
		}
		s.acknowledge(k, data)
	}
}

func (s *Server) acknowledge(k *socket, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || k.silent || len(data) >= ackLimit {
		return
	}
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(data, &ack) != nil || ack.EnvelopeID == "" {
		s.t.Errorf("slackfake: a frame that acknowledges nothing: %.200s", data)
		return
	}
	d := k.pending[ack.EnvelopeID]
	if d == nil {
		s.unexpectedAck(k, ack.EnvelopeID)
		return
	}
	if string(ack.Payload) == "null" {
		ack.Payload = nil
	}
	delete(k.pending, ack.EnvelopeID)
	s.answered(d, ack.Payload)
}

// unexpectedAck tolerates what a well-made client may do: acknowledge twice or
// late, or on the socket that followed.
func (s *Server) unexpectedAck(k *socket, id string) {
	for _, sent := range s.sents {
		for _, d := range sent.deliveries {
			if d.EnvelopeID == id && sent.app == k.app {
				return
			}
		}
	}
	s.t.Errorf("slackfake: acknowledgement of the envelope %q, which was never sent", id)
}
