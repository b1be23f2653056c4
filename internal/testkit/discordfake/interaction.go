package discordfake

import (
	"fmt"
	"net/http"
)

// Kinds of interactions and of their first answers.
const (
	command = 2
	tap     = 3
	submit  = 5

	answerMessage = 4
	answerLater   = 5
	answerQuietly = 6
	answerForm    = 9
)

// Interaction is a tap, a form sent or a command, and how it was answered.
type Interaction struct {
	server *Server
	person *Person
	event  map[string]any
	kind   int

	id, token string
	answer    int
	answers   []Message // ephemeral, the first and those behind it
	form      *Form
	late      bool
}

// Form is a form that was opened.
type Form struct {
	Title, CustomID    string
	Field, Placeholder string
	field              string
}

// act sends an interaction of p; the caller holds mu.
func (s *Server) act(p *Person, in *place, kind int, message *Message, data map[string]any) *Interaction {
	i := &Interaction{server: s, person: p, kind: kind, id: s.next(), token: "itok" + s.next()}
	i.event = map[string]any{
		"id": i.id, "application_id": AppID, "type": kind, "token": i.token, "version": 1,
		"channel_id": in.id, "channel": map[string]any{"id": in.id}, "data": data,
	}
	if in.guild == "" {
		i.event["user"], i.event["context"] = p.account(), 1
	} else {
		i.event["guild_id"], i.event["member"], i.event["context"] = in.guild, map[string]any{"user": p.account()}, 0
	}
	if message != nil {
		i.event["message"] = map[string]any{"id": message.ID, "channel_id": in.id}
	}
	s.interactions[i.token] = i
	s.dispatch("INTERACTION_CREATE", 0, i.event)
	s.after(s.opts.AckTimeout, func() {
		if i.answer == 0 && !i.late {
			i.late = true
			s.notify()
			if !p.patient {
				s.t.Errorf("discordfake: an interaction of type %d was not answered within %s", kind, s.opts.AckTimeout)
			}
		}
	})
	return i
}

// Again delivers the interaction once more, as after a session that was resumed.
func (i *Interaction) Again() {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	i.server.dispatch("INTERACTION_CREATE", 0, i.event)
}

// Expire makes the time for a first answer be over.
func (i *Interaction) Expire() {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	i.late = true
}

// Answered tells whether the interaction has had its first answer.
func (i *Interaction) Answered() bool {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	return i.answer != 0
}

// WaitAnswered waits for the first answer and gives its type.
func (i *Interaction) WaitAnswered() int {
	i.server.t.Helper()
	i.server.await("an answer to an interaction", func() bool { return i.answer != 0 })
	return i.answer
}

// WaitText waits for a line that its person alone sees.
func (i *Interaction) WaitText() string {
	i.server.t.Helper()
	var text string
	i.server.await("a text behind an interaction", func() bool {
		for _, m := range i.answers {
			text = m.Shown()
		}
		return text != ""
	})
	return text
}

// WaitForm waits for a form.
func (i *Interaction) WaitForm() Form {
	i.server.t.Helper()
	i.server.await("a form", func() bool { return i.form != nil })
	return *i.form
}

// Submit fills the form in and sends it.
func (i *Interaction) Submit(text string) *Interaction {
	i.server.t.Helper()
	form := i.WaitForm()
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	return i.server.act(i.person, i.person.dm, submit, nil, map[string]any{
		"custom_id": form.CustomID,
		"components": []any{map[string]any{"type": 1, "components": []any{
			map[string]any{"type": 4, "custom_id": form.field, "value": text},
		}}},
	})
}

func (s *Server) respond(r request) (any, *failure) {
	i, ok := s.interactions[r.PathValue("token")]
	var body struct {
		Type int     `json:"type"`
		Data *posted `json:"data"`
	}
	if fail := s.into(r, &body); fail != nil {
		return nil, fail
	}
	switch {
	case !ok || i.id != r.PathValue("i") || i.late:
		return nil, refuse(http.StatusNotFound, 10062, "Unknown interaction")
	case i.answer != 0:
		return nil, refuse(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	}
	switch {
	case body.Type == answerMessage && body.Data != nil:
		if fail := i.whisper(*body.Data); fail != nil {
			return nil, fail
		}
	case body.Type == answerLater && i.kind == command:
	case body.Type == answerQuietly && i.kind != command:
	case body.Type == answerForm && i.kind != submit && body.Data != nil:
		form, fail := formOf(*body.Data)
		if fail != nil {
			return nil, fail
		}
		i.form = form
	default:
		s.t.Errorf("discordfake: an answer of type %d to an interaction of type %d", body.Type, i.kind)
		return nil, invalid("type %d", body.Type)
	}
	i.answer = body.Type
	return nil, nil
}

func (s *Server) followUp(r request) (any, *failure) {
	i, ok := s.interactions[r.PathValue("token")]
	var p posted
	if fail := s.into(r, &p); fail != nil {
		return nil, fail
	}
	if !ok || i.answer == 0 || r.PathValue("app") != AppID {
		return nil, refuse(http.StatusNotFound, 10015, "Unknown Webhook")
	}
	if fail := i.whisper(p); fail != nil {
		return nil, fail
	}
	return map[string]any{"id": s.next()}, nil
}

func (i *Interaction) whisper(p posted) *failure {
	if fail := i.server.check(p, nil); fail != nil {
		return fail
	}
	if p.Flags&(1<<6) == 0 {
		i.server.t.Errorf("discordfake: an answer that everybody sees: %q", p.Content)
	}
	m := Message{Ephemeral: true}
	p.show(&m)
	i.answers = append(i.answers, m)
	return nil
}

func formOf(p posted) (*Form, *failure) {
	if p.Title == "" || length(p.Title) > 45 || p.CustomID == "" || len(p.CustomID) > 100 {
		return nil, invalid("form %q with an id of %d bytes", p.Title, len(p.CustomID))
	}
	if len(p.Components) != 1 || p.Components[0].Type != 1 || len(p.Components[0].Components) != 1 {
		return nil, invalid("form: want one row with one field")
	}
	f := p.Components[0].Components[0]
	if f.Type != 4 || f.CustomID == "" || f.Label == "" || length(f.Label) > 45 || length(f.Placeholder) > 100 || f.Style < 1 || f.Style > 2 || f.MaxLength > 4000 {
		return nil, invalid("form: field %q", f.Label)
	}
	return &Form{Title: p.Title, CustomID: p.CustomID, Field: f.Label, Placeholder: f.Placeholder, field: f.CustomID}, nil
}

func (i *Interaction) String() string { return fmt.Sprintf("interaction %s of type %d", i.id, i.kind) }
