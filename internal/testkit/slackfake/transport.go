package slackfake

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is the JSON object of a response, without "ok".
type answer map[string]any

// refusal is an answer with "ok": false.
type refusal struct {
	code  string
	extra answer
}

func (r *refusal) Error() string { return r.code }

func refuse(code string) error { return &refusal{code: code} }

// Call is one request to the Web API. Params are as sent, without the token;
// values that were not strings are JSON text. Error is Slack's code, empty when
// the call succeeded.
type Call struct {
	Method string
	Params map[string]string
	App    string
	Time   time.Time
	Error  string
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", s.serveAPI)
	mux.HandleFunc("/api/upload/", s.serveUpload)
	mux.HandleFunc("/link/", s.serveLink)
	mux.HandleFunc("/response/", s.serveResponse)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.t.Errorf("slackfake: a request for %s, which is no part of Slack", r.URL.Path)
		http.NotFound(w, r)
	})
	return s.counted(mux)
}

// counted lets Close wait for requests, so that none reports to a test that
// has ended.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		s.work.Add(1)
		s.mu.Unlock()
		defer s.work.Done()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	params, err := readParams(r)
	if err != nil {
		s.t.Errorf("slackfake: %s: %v", name, err)
		write(w, answer{"ok": false, "error": "invalid_form_data"})
		return
	}
	if r.URL.Query().Has("token") {
		s.t.Errorf("slackfake: %s carries its token in the address", name)
	}
	token := tokenOf(r, params)
	delete(params, "token")
	fault := s.matchFault(name, params)
	if fault == nil {
		write(w, s.perform(name, r.Method, params, token))
		return
	}
	fault.wait(s.done)
	switch {
	case fault.onlyLate():
		write(w, s.perform(name, r.Method, params, token))
		return
	case fault.PerformFirst:
		s.perform(name, r.Method, params, token)
	default:
		s.record(name, params, token, "fault")
	}
	fault.spoil(w)
}

// perform runs one method, all of it under one lock.
func (s *Server) perform(name, verb string, params map[string]string, token string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, err := s.run(name, verb, params, token)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		result = answer{"ok": false, "error": refused.code}
		maps.Copy(result, refused.extra)
	default:
		result["ok"] = true
	}
	s.recordLocked(name, params, token, code(err))
	return result
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *Server) run(name, verb string, params map[string]string, token string) (answer, error) {
	m, ok := methods[name]
	if !ok {
		s.t.Errorf("slackfake: unknown method %q", name)
		return nil, refuse("unknown_method")
	}
	if verb != http.MethodPost && !(m.read && verb == http.MethodGet) {
		s.t.Errorf("slackfake: %s by %s", name, verb)
	}
	for key := range params {
		if !slices.Contains(m.params, key) {
			s.t.Errorf("slackfake: %s has no parameter %q", name, key)
		}
	}
	a, err := s.authorize(m, token)
	if err != nil {
		return nil, err
	}
	if err := s.limited(a, name, params["channel"]); err != nil {
		return nil, err
	}
	return m.run(s, a, params)
}

func (s *Server) record(name string, params map[string]string, token, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordLocked(name, params, token, code)
}

func (s *Server) recordLocked(name string, params map[string]string, token, code string) {
	call := Call{Method: name, Params: params, Time: s.now(), Error: code}
	if a, _ := s.owner(token); a != nil {
		call.App = a.ID
	}
	s.calls = append(s.calls, call)
	s.notify()
}

// write sends result; a rate limit is the one refusal with a status of its own.
func write(w http.ResponseWriter, result answer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if wait, ok := result["retry_after"].(int); ok {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		w.WriteHeader(http.StatusTooManyRequests)
		delete(result, "retry_after")
	}
	_ = json.NewEncoder(w).Encode(result)
}
