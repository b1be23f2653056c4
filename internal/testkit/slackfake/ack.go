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
	if len(ack.Payload) > 0 && string(ack.Payload) != "null" && !d.acceptsPayload {
		s.t.Errorf("slackfake: an acknowledgement of %s carries a payload, which it must not", d.Type)
	}
	delete(k.pending, ack.EnvelopeID)
	s.acked(d)
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
