package slackfake

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
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
	token := tokenOf(r, params)
	delete(params, "token")
	fault := s.matchFault(name, params)
	if fault != nil && !fault.PerformFirst {
		s.record(name, params, token, "fault")
		fault.answer(w, s.done)
		return
	}
	result := s.perform(name, r.Method, params, token)
	if fault != nil {
		fault.answer(w, s.done)
		return
	}
	write(w, result)
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

// authorize finds the app that token belongs to and checks its kind and scope.
func (s *Server) authorize(m method, token string) (*app, error) {
	if token == "" {
		return nil, refuse("not_authed")
	}
	a, isApp := s.owner(token)
	if a == nil {
		return nil, refuse("invalid_auth")
	}
	if isApp != m.appToken {
		return nil, refuse("not_allowed_token_type")
	}
	revoked, scopes := a.botRevoked, a.BotScopes
	if isApp {
		revoked, scopes = a.appRevoked, a.AppScopes
	}
	if revoked {
		return nil, refuse("token_revoked")
	}
	if m.scope != "" && !slices.Contains(scopes, m.scope) {
		return nil, &refusal{"missing_scope", answer{"needed": m.scope, "provided": strings.Join(scopes, ",")}}
	}
	return a, nil
}

func (s *Server) owner(token string) (a *app, isApp bool) {
	for _, a := range s.apps {
		switch token {
		case a.BotToken:
			return a, false
		case a.AppToken:
			return a, true
		}
	}
	return nil, false
}

// tokenOf is the token of the header or, failing that, of the form.
func tokenOf(r *http.Request, params map[string]string) string {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	return params["token"]
}

// maxBody is more than any request of the methods here may need.
const maxBody = 4 << 20

func readParams(r *http.Request) (map[string]string, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return readJSON(r.Body)
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return nil, err
		}
	default:
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
	}
	params := make(map[string]string)
	for key, values := range r.Form {
		if len(values) != 1 {
			return nil, errors.New("parameter " + key + " is given more than once")
		}
		params[key] = values[0]
	}
	return params, nil
}

// readJSON keeps values that are not strings as JSON text.
func readJSON(body io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(body)
	if err != nil || len(data) == 0 {
		return map[string]string{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	params := make(map[string]string, len(fields))
	for key, value := range fields {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		params[key] = text
	}
	return params, nil
}

func write(w http.ResponseWriter, result answer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(result)
}
