package steerholm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/kballard/go-shellquote"
)

// serverEntry is a server in config.json.
type serverEntry struct {
	Name    string            `json:"name" need:""`
	ID      *string           `json:"id"` // from schema 1 on
	Command string            `json:"command"`
	URL     string            `json:"url"`
	Env     map[string]string `json:"env"`
	Type    string            `json:"server_type"`
}

func (t *translator) servers() {
	names := sortedNames(t.state.servers)
	given := serverRule.assign(names)
	t.serverNames = map[string]string{}
	for _, was := range names {
		where := "server " + was
		entry, err := decodeServer(was, t.state.servers[was])
		if err != nil {
			t.find(LeftOut, where, "%v", err)
			continue
		}
		s := Server{Name: given[was], Was: was}
		if err := s.reach(entry); err != nil {
			t.find(LeftOut, where, "%v", err)
			continue
		}
		if !t.know(entry, s.Name, where) {
			continue
		}
		if s.Name != was {
			t.find(Renamed, where, "is called %s in Holm, and so are its tools", s.Name)
		}
		t.takeEnv(&s, entry.Env, where)
		t.out.Servers = append(t.out.Servers, s)
	}
}

func decodeServer(was string, raw json.RawMessage) (serverEntry, error) {
	entry := serverEntry{Type: "stdio"}
	if err := decode(raw, &entry); err != nil {
		return entry, err
	}
	if entry.Name != was {
		return entry, fmt.Errorf("it also calls itself %q", entry.Name)
	}
	return entry, nil
}

// know remembers how policies name the server.
func (t *translator) know(entry serverEntry, name, where string) bool {
	key := entry.Name
	if t.state.schema > 0 {
		if entry.ID == nil || *entry.ID == "" {
			t.find(Changed, where, "has no id, so no rule can speak of it")
			return true
		}
		key = *entry.ID
	}
	if other, ok := t.serverNames[key]; ok {
		t.find(LeftOut, where, "has the same id as %s", other)
		return false
	}
	t.serverNames[key] = name
	return true
}

// reach fills in how the server is reached.
func (s *Server) reach(entry serverEntry) (err error) {
	switch {
	case entry.Type == "stdio" && entry.Command != "" && entry.URL == "":
		s.Command, err = shellquote.Split(entry.Command)
		if err == nil && len(s.Command) == 0 {
			err = errors.New("the command is empty")
		}
		return err
	case entry.Type == "http" && entry.URL != "" && entry.Command == "":
		return s.address(entry.URL)
	}
	return errors.New("want a stdio server with a command, or an http server with a url")
}

// address takes credentials out of the address: Holm keeps them sealed, as the
// header that a client makes of them.
func (s *Server) address(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("the url is no http or https address")
	}
	if u.User != nil {
		password, _ := u.User.Password()
		pair := u.User.Username() + ":" + password
		s.Headers = map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}
		u.User = nil
	}
	s.URL = u.String()
	return nil
}

// envName follows internal/servers. Steerholm also takes . and -.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (t *translator) takeEnv(s *Server, env map[string]string, where string) {
	for _, name := range sortedNames(env) {
		switch {
		case s.URL != "":
			t.find(LeftOut, where, "variable %s: a remote server has no environment", name)
		case !envName.MatchString(name):
			t.find(LeftOut, where, "variable %q: Holm takes letters, digits and _ only", name)
		default:
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[name] = env[name]
		}
	}
}
