package slackfake

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Limits of views (docs.slack.dev/reference/views), beside those of blocks.
const (
	viewBytes   = 250_000
	viewsDeep   = 3
	triggerLife = 3 * time.Second
)

// View is a modal that a person has open, or the app's page for them.
type View struct {
	ID, Hash, Type, Title, Submit, CallbackID, PrivateMetadata string

	NotifyOnClose bool
	Blocks        []json.RawMessage
	// Errors are what the app said of single fields, by block id.
	Errors map[string]string

	app  *app
	user string
	raw  json.RawMessage
}

// Shown is the text that a person reads on v; Buttons are its buttons.
func (v View) Shown() string     { return Message{Blocks: v.Blocks}.Shown() }
func (v View) Buttons() []Button { return buttonsOf(v.Blocks) }

// trigger lets its holder open one view.
type trigger struct {
	app  *app
	user string
	made time.Time
	used bool
}

// trigger is a trigger_id, "n.n.hex", of what a person did.
func (s *Server) trigger(a *app, u *user) string {
	id := fmt.Sprintf("%d.%d.%s", 1_000_000_000+s.next(), 2_000_000_000+s.next(), hexID(32))
	s.triggers[id] = &trigger{app: a, user: u.id, made: s.now()}
	return id
}

func (s *Server) redeemTrigger(a *app, id string) (user string, err error) {
	t := s.triggers[id]
	switch {
	case strings.Count(id, ".") != 2 || t == nil || t.app != a:
		return "", refuse("invalid_trigger_id")
	case t.used:
		return "", refuse("exchanged_trigger_id")
	case s.now().Sub(t.made) > s.opts.TriggerLife:
		return "", refuse("expired_trigger_id")
	}
	t.used = true
	return t.user, nil
}

func (s *Server) viewsOpen(a *app, p map[string]string) (answer, error) {
	v, err := s.readView(a, p["view"], "modal")
	if err != nil {
		return nil, err
	}
	if v.user, err = s.redeemTrigger(a, p["trigger_id"]); err != nil {
		return nil, err
	}
	s.modals[v.user] = []*View{v}
	return s.viewAnswer(v), nil
}

func (s *Server) viewsPush(a *app, p map[string]string) (answer, error) {
	v, err := s.readView(a, p["view"], "modal")
	if err != nil {
		return nil, err
	}
	if v.user, err = s.redeemTrigger(a, p["trigger_id"]); err != nil {
		return nil, err
	}
	if len(s.modals[v.user]) >= viewsDeep {
		return nil, refuse("push_limit_reached")
	}
	s.modals[v.user] = append(s.modals[v.user], v)
	return s.viewAnswer(v), nil
}

func (s *Server) viewsUpdate(a *app, p map[string]string) (answer, error) {
	v, err := s.readView(a, p["view"], "modal")
	if err != nil {
		return nil, err
	}
	for _, stack := range s.modals {
		for i, open := range stack {
			if open.ID != p["view_id"] || open.app != a {
				continue
			}
			if p["hash"] != "" && p["hash"] != open.Hash {
				return nil, refuse("hash_conflict")
			}
			v.ID, v.user = open.ID, open.user
			stack[i] = v
			return s.viewAnswer(v), nil
		}
	}
	return nil, refuse("not_found")
}

func (s *Server) viewsPublish(a *app, p map[string]string) (answer, error) {
	v, err := s.readView(a, p["view"], "home")
	if err != nil {
		return nil, err
	}
	u := s.users[p["user_id"]]
	switch {
	case u == nil || u.team != a.Team || u.bot:
		return nil, refuse("user_not_found")
	case a.homeDisabled:
		return nil, refuse("not_enabled")
	}
	v.user = u.id
	if before := s.homes[homeKey(a, u.id)]; before != nil {
		if p["hash"] != "" && p["hash"] != before.Hash {
			return nil, refuse("hash_conflict")
		}
		v.ID = before.ID
	}
	s.homes[homeKey(a, u.id)] = v
	s.published++
	return s.viewAnswer(v), nil
}

func homeKey(a *app, user string) string { return a.ID + " " + user }

func (s *Server) viewAnswer(v *View) answer {
	s.notify()
	return answer{"view": s.viewWire(v, nil)}
}

// viewWire is v as Slack sends it, with what its fields hold.
func (s *Server) viewWire(v *View, values answer) answer {
	w := answer{}
	_ = json.Unmarshal(v.raw, &w)
	if values == nil {
		values = answer{}
	}
	w["id"], w["team_id"], w["hash"], w["app_id"], w["bot_id"] = v.ID, v.app.Team, v.Hash, v.app.ID, v.app.BotID
	w["root_view_id"], w["blocks"], w["state"] = v.ID, v.Blocks, answer{"values": values}
	w["private_metadata"], w["callback_id"] = v.PrivateMetadata, v.CallbackID
	return w
}

// readView checks a view of a kind. Slack names what is wrong by pointers.
func (s *Server) readView(a *app, raw, kind string) (*View, error) {
	if len(raw) > viewBytes {
		return nil, refuse("view_too_large")
	}
	var o object
	if json.Unmarshal([]byte(raw), &o) != nil {
		return nil, refuse("invalid_arguments")
	}
	c := &blockCheck{blockIDs: map[string]bool{}, actionIDs: map[string]bool{}, view: true}
	if o["type"] != kind {
		c.wrong("/view/type", "must be %s", kind)
	}
	c.only("/view", o, "title", "blocks", "close", "submit", "private_metadata", "callback_id", "clear_on_close",
		"notify_on_close", "external_id", "submit_disabled")
	if kind == "modal" || o["title"] != nil {
		c.text("/view/title", o["title"], limits["view.title.max_length"], "plain_text")
	}
	for _, key := range []string{"close", "submit"} {
		if o[key] != nil {
			c.text("/view/"+key, o[key], limits["view."+key+".max_length"], "plain_text")
		}
	}
	for _, key := range []string{"private_metadata", "callback_id"} {
		if o[key] != nil {
			c.length("/view/"+key, o[key], 0, limits["view."+key+".max_length"])
		}
	}
	blocks, _ := o["blocks"].([]any)
	c.count("/view/blocks", blocks, limits["view.blocks.max_items"])
	for i, b := range blocks {
		c.block(fmt.Sprintf("/view/blocks/%d", i), b)
	}
	if c.inputs > 0 && o["submit"] == nil && kind == "modal" {
		c.wrong("/view", "submit is required when there are input blocks")
	}
	if len(c.problems) > 0 {
		return nil, &refusal{"invalid_arguments", answer{"response_metadata": answer{"messages": prefixed(c.problems)}}}
	}
	v := &View{
		ID: "V0" + strings.ToUpper(hexID(8)), Hash: fmt.Sprintf("%d.%s", s.now().Unix(), hexID(8)), Type: kind,
		Title: labelOf(o["title"]), Submit: labelOf(o["submit"]), Blocks: encode(blocks), app: a, raw: json.RawMessage(raw),
	}
	v.PrivateMetadata, _ = o["private_metadata"].(string)
	v.CallbackID, _ = o["callback_id"].(string)
	v.NotifyOnClose, _ = o["notify_on_close"].(bool)
	return v, nil
}

func labelOf(text any) string {
	o, _ := text.(object)
	label, _ := o["text"].(string)
	return label
}
