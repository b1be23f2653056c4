package slackfake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// How long and how often a response address works
// (docs.slack.dev/interactivity/handling-user-interaction).
const (
	responseLife = 30 * time.Minute
	responseUses = 5
)

// response is an address that lets its holder answer one interaction.
type response struct {
	app     *app
	channel *conversation
	message *Message // nil for commands
	user    string
	made    time.Time
	uses    int
}

// responseURL makes an address; the caller holds mu.
func (s *Server) responseURL(a *app, c *conversation, m *Message, user string) string {
	id := hexID(24)
	s.responses[id] = &response{app: a, channel: c, message: m, user: user, made: s.now()}
	return fmt.Sprintf("http://%s/response/%s", s.addr, id)
}

var responseParams = []string{
	"attachments", "blocks", "delete_original", "metadata", "replace_original", "response_type", "text", "thread_ts",
}

func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	p, err := readParams(r)
	if err != nil || r.Method != http.MethodPost {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range p {
		if !slices.Contains(responseParams, key) {
			s.t.Errorf("slackfake: a response has no parameter %q", key)
		}
	}
	to := s.responses[strings.TrimPrefix(r.URL.Path, "/response/")]
	if to == nil || to.uses >= responseUses || s.now().Sub(to.made) > responseLife {
		http.Error(w, "used_url", http.StatusNotFound)
		return
	}
	if err := s.respond(to, p); err != nil {
		http.Error(w, code(err), http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte("ok"))
}

func (s *Server) respond(to *response, p map[string]string) error {
	if p["delete_original"] == "true" && to.message != nil {
		to.uses++
		to.message.Deleted = true
		s.notify()
		return nil
	}
	what, err := s.content(p)
	if err != nil {
		return err
	}
	if what.empty() {
		return refuse("no_text")
	}
	to.uses++
	m := Message{
		Channel: to.channel.id, TS: s.stamp(), User: to.app.BotUser, BotID: to.app.BotID, App: to.app.ID,
		Text: what.text, Blocks: what.blocks,
	}
	switch {
	case p["replace_original"] == "true" && to.message != nil:
		to.message.Earlier = append(to.message.Earlier, to.message.Blocks)
		to.message.Text, to.message.Blocks = what.text, what.blocks
	case p["response_type"] == "in_channel":
		to.channel.messages = append(to.channel.messages, &m)
	default:
		s.ephemerals[to.user] = append(s.ephemerals[to.user], m)
	}
	s.notify()
	return nil
}
