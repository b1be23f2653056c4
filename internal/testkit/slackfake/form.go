package slackfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Modal is the view on top of those that the person has open, if any.
func (p *Person) Modal() (View, bool) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	stack := p.server.modals[p.user.id]
	if len(stack) == 0 {
		return View{}, false
	}
	return *stack[len(stack)-1], true
}

// WaitModal waits until the person has a view open that passes ok.
func (p *Person) WaitModal(what string, ok func(View) bool) View {
	p.server.t.Helper()
	var found View
	p.server.await("a view of "+p.user.name+": "+what, func() bool {
		stack := p.server.modals[p.user.id]
		if len(stack) == 0 || !ok(*stack[len(stack)-1]) {
			return false
		}
		found = *stack[len(stack)-1]
		return true
	})
	return found
}

// WaitNoModal waits until the person has no view open any more.
func (p *Person) WaitNoModal() {
	p.server.t.Helper()
	p.server.await("no view of "+p.user.name, func() bool { return len(p.server.modals[p.user.id]) == 0 })
}

// WaitHome waits until the app's page for the person passes ok.
func (p *Person) WaitHome(what string, ok func(View) bool) View {
	p.server.t.Helper()
	var found View
	p.server.await("the page of "+p.user.name+": "+what, func() bool {
		v := p.server.homes[homeKey(p.app, p.user.id)]
		if v == nil || !ok(*v) {
			return false
		}
		found = *v
		return true
	})
	return found
}

// ClickHome presses a button of the app's page.
func (p *Person) ClickHome(button string) *Sent {
	p.server.t.Helper()
	v := p.WaitHome("the button "+button, func(v View) bool { return slices.ContainsFunc(v.Buttons(), named(button)) })
	buttons := v.Buttons()
	b := buttons[slices.IndexFunc(buttons, named(button))]
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trigger(p.app, p.user)
	payload := s.acting(p, "block_actions")
	payload["trigger_id"], payload["view"] = t, s.viewWire(&v, nil)
	payload["container"] = answer{"type": "view", "view_id": v.ID}
	payload["actions"] = []answer{s.pressed(b)}
	return s.send(p.app, Interactive, fmt.Sprintf("%s's click on %q", p.user.name, b.Label), t, payload)
}

func named(button string) func(Button) bool {
	return func(b Button) bool { return b.Label == button || b.ActionID == button }
}

// acting is the part of an interaction that tells who acts.
func (s *Server) acting(p *Person, kind string) answer {
	return answer{
		"type": kind, "api_app_id": p.app.ID, "token": "verification-token", "enterprise": nil, "is_enterprise_install": false,
		"user": answer{"id": p.user.id, "username": p.user.name, "name": p.user.name, "team_id": p.user.team},
		"team": answer{"id": p.app.Team, "domain": strings.ToLower(p.app.Team)},
	}
}

// input is what is read of an input block.
type input struct {
	BlockID  string          `json:"block_id"`
	Type     string          `json:"type"`
	Optional bool            `json:"optional"`
	Label    json.RawMessage `json:"label"`
	Element  struct {
		Type      string            `json:"type"`
		ActionID  string            `json:"action_id"`
		MaxLength int               `json:"max_length"`
		Initial   json.RawMessage   `json:"initial_option"`
		Options   []json.RawMessage `json:"options"`
	} `json:"element"`
}

// Submit fills the fields of the open view, by their labels, and sends it. A
// choice is named by its label. Slack's clients refuse to send what is
// required and empty, and so does this.
func (p *Person) Submit(fill map[string]string) *Sent {
	p.server.t.Helper()
	v, ok := p.Modal()
	if !ok {
		p.server.t.Fatalf("slackfake: %s has no view open", p.user.name)
	}
	if v.Submit == "" {
		p.server.t.Fatalf("slackfake: the view %q cannot be sent", v.Title)
	}
	values, missing := answer{}, fill
	for _, raw := range v.Blocks {
		var in input
		if json.Unmarshal(raw, &in) != nil || in.Type != "input" {
			continue
		}
		label := textOf(in.Label)
		text, filled := missing[label]
		if !filled && !in.Optional {
			p.server.t.Fatalf("slackfake: the field %q must be filled", label)
		}
		values[in.BlockID] = answer{in.Element.ActionID: p.fieldValue(in, text, filled)}
		if filled {
			missing = without(missing, label)
		}
	}
	if len(missing) > 0 {
		p.server.t.Fatalf("slackfake: the view has no fields %v", missing)
	}
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	payload := s.acting(p, "view_submission")
	t := s.trigger(p.app, p.user)
	payload["trigger_id"], payload["view"], payload["response_urls"] = t, s.viewWire(&v, values), []string{}
	sent := s.sendBy(p, Interactive, "the sending of "+v.Title, t, payload)
	sent.view = &v
	return sent
}

func without(m map[string]string, key string) map[string]string {
	out := map[string]string{}
	for k, value := range m {
		if k != key {
			out[k] = value
		}
	}
	return out
}

func (p *Person) fieldValue(in input, text string, filled bool) answer {
	p.server.t.Helper()
	switch {
	case in.Element.Type == "plain_text_input" && filled:
		return answer{"type": in.Element.Type, "value": text}
	case in.Element.Type == "plain_text_input":
		return answer{"type": in.Element.Type, "value": nil}
	case !filled:
		return answer{"type": in.Element.Type, "selected_option": in.Element.Initial}
	}
	for _, option := range in.Element.Options {
		if textOf(parse(option).Text) == text {
			return answer{"type": in.Element.Type, "selected_option": option}
		}
	}
	p.server.t.Fatalf("slackfake: there is no choice %q", text)
	return nil
}

// CloseView closes the open view without sending it. The app hears of it where
// it asked to; otherwise nil is returned.
func (p *Person) CloseView() *Sent {
	p.server.t.Helper()
	v, ok := p.Modal()
	if !ok {
		p.server.t.Fatalf("slackfake: %s has no view open", p.user.name)
	}
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeModal(p.user.id)
	if !v.NotifyOnClose {
		return nil
	}
	payload := s.acting(p, "view_closed")
	payload["view"], payload["is_cleared"] = s.viewWire(&v, nil), false
	return s.send(p.app, Interactive, "the closing of "+v.Title, hexID(12), payload)
}

func (s *Server) closeModal(user string) {
	if stack := s.modals[user]; len(stack) > 0 {
		s.modals[user] = stack[:len(stack)-1]
	}
	s.notify()
}

// submitted does with a view what the app answered: close it, by default.
func (s *Server) submitted(sent *Sent, payload []byte) {
	var reply struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
	}
	if len(payload) > 0 && json.Unmarshal(payload, &reply) != nil {
		s.t.Errorf("slackfake: the answer to a view is not JSON: %.200s", payload)
	}
	switch reply.Action {
	case "":
		s.closeModal(sent.person)
	case "clear":
		s.modals[sent.person] = nil
	case "errors":
		stack := s.modals[sent.person]
		for block := range reply.Errors {
			if !strings.Contains(string(sent.payload), `"`+block+`":{`) {
				s.t.Errorf("slackfake: an error of the block %q, which is no input", block)
			}
		}
		if len(stack) > 0 {
			stack[len(stack)-1].Errors = reply.Errors
		}
	default:
		s.t.Errorf("slackfake: response_action %q is not known here", reply.Action)
	}
	s.notify()
}
