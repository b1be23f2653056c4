package discordfake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// Call is one call of the REST API.
type Call struct {
	Method, Path string
	Body         string
}

// failure is what Discord answers in place of success.
type failure struct {
	status, code int
	text         string
}

func refuse(status, code int, text string) *failure {
	return &failure{status: status, code: code, text: text}
}

func invalid(format string, args ...any) *failure {
	return refuse(http.StatusBadRequest, 50035, "Invalid Form Body: "+fmt.Sprintf(format, args...))
}

// request is a call with its body read.
type request struct {
	*http.Request
	body  []byte
	files []File
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /gateway/", s.serveGateway)
	mux.HandleFunc("GET /resume/", s.serveGateway)
	mux.HandleFunc("GET /gateway", s.serveGateway)
	mux.HandleFunc("GET /resume", s.serveGateway)
	for pattern, handle := range map[string]func(request) (any, *failure){
		"GET /api/v10/gateway/bot":                        s.gatewayBot,
		"POST /api/v10/users/@me/channels":                s.openDirect,
		"POST /api/v10/channels/{channel}/messages":       s.createMessage,
		"PATCH /api/v10/channels/{channel}/messages/{m}":  s.editMessage,
		"POST /api/v10/interactions/{i}/{token}/callback": s.respond,
		"POST /api/v10/webhooks/{app}/{token}":            s.followUp,
		"POST /api/v10/applications/{app}/commands":       s.registerCommand,
	} {
		mux.HandleFunc(pattern, s.serve(handle))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.t.Errorf("discordfake: %s %s is not known", r.Method, r.URL.Path)
		http.NotFound(w, r)
	})
	return mux
}

// serve reads the call, meets faults, and writes what handle answers.
func (s *Server) serve(handle func(request) (any, *failure)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, fail := s.read(r)
		if fail != nil {
			write(w, fail.status, map[string]any{"code": fail.code, "message": fail.text})
			return
		}
		fault := s.meet(req)
		if fault != nil && !fault.PerformFirst {
			fault.spoil(w)
			return
		}
		s.mu.Lock()
		if wait := s.counted(w, req); wait > 0 {
			s.limited++
			s.mu.Unlock()
			(&Fault{RetryAfter: wait}).spoil(w)
			return
		}
		answer, fail := handle(req)
		s.notify()
		s.mu.Unlock()
		switch {
		case fault != nil:
			fault.spoil(w)
		case fail != nil:
			write(w, fail.status, map[string]any{"code": fail.code, "message": fail.text})
		case answer == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			write(w, http.StatusOK, answer)
		}
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) read(r *http.Request) (request, *failure) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return request{}, refuse(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	}
	req := request{Request: r, body: body}
	if !strings.HasPrefix(r.Header.Get("User-Agent"), "DiscordBot (") {
		s.t.Errorf("discordfake: the user agent %q gets a bot blocked", r.Header.Get("User-Agent"))
	}
	s.mu.Lock()
	revoked := s.refuseToken
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bot "+s.token || revoked {
		return req, refuse(http.StatusUnauthorized, 0, "401: Unauthorized")
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case len(body) == 0:
	case kind == "application/json":
	case kind == "multipart/form-data":
		if err := req.readParts(params["boundary"]); err != nil {
			return req, invalid("%v", err)
		}
	default:
		return req, invalid("content type %q", kind)
	}
	s.mu.Lock()
	s.calls = append(s.calls, Call{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/api/v10"), Body: string(req.body)})
	s.mu.Unlock()
	return req, nil
}

func (r *request) readParts(boundary string) error {
	parts := multipart.NewReader(bytes.NewReader(r.body), boundary)
	r.body = nil
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		switch {
		case part.FormName() == "payload_json":
			r.body = data
		case part.FormName() == fmt.Sprintf("files[%d]", len(r.files)) && part.FileName() != "":
			r.files = append(r.files, File{Name: part.FileName(), Data: data})
		default:
			return fmt.Errorf("a part %q", part.FormName())
		}
	}
}

// into reads the body strictly: a field Discord would ignore is a mistake of ours.
func (s *Server) into(r request, v any) *failure {
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		s.t.Errorf("discordfake: %s %s: %v in %s", r.Method, r.URL.Path, err, r.body)
		return refuse(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	}
	return nil
}

func (s *Server) gatewayBot(request) (any, *failure) {
	return map[string]any{
		"url": "ws://" + s.addr + "/gateway", "shards": 1,
		"session_start_limit": map[string]any{"total": 1000, "remaining": max(s.opts.Starts-s.starts, 0), "reset_after": 3_600_000, "max_concurrency": 1},
	}, nil
}

func (s *Server) openDirect(r request) (any, *failure) {
	var body struct {
		Recipient string `json:"recipient_id"`
	}
	if fail := s.into(r, &body); fail != nil {
		return nil, fail
	}
	p, ok := s.people[body.Recipient]
	if !ok {
		return nil, refuse(http.StatusBadRequest, 50033, "Invalid Recipient(s)")
	}
	return map[string]any{"id": p.dm.id, "type": 1}, nil
}

func (s *Server) registerCommand(r request) (any, *failure) {
	var body struct {
		Name    string `json:"name"`
		About   string `json:"description"`
		Type    int    `json:"type"`
		Options []struct {
			Type  int    `json:"type"`
			Name  string `json:"name"`
			About string `json:"description"`
		} `json:"options"`
	}
	if json.Unmarshal(r.body, &body) != nil || r.PathValue("app") != AppID {
		return nil, invalid("a command of %s", r.PathValue("app"))
	}
	if body.Name == "" || body.Name != strings.ToLower(body.Name) || len(body.Name) > 32 || body.About == "" || len([]rune(body.About)) > 100 {
		return nil, invalid("name %q or description %q", body.Name, body.About)
	}
	for _, o := range body.Options {
		if o.Type != 3 || o.Name == "" || len(o.Name) > 32 || o.About == "" || len([]rune(o.About)) > 100 {
			return nil, invalid("option %q", o.Name)
		}
	}
	s.commands = append(s.commands, body.Name)
	return map[string]any{"id": s.next(), "name": body.Name}, nil
}

// WaitCommand waits until the bot has registered a command.
func (s *Server) WaitCommand(name string) {
	s.t.Helper()
	s.await("the command "+name, func() bool { return slices.Contains(s.commands, name) })
}

// Calls are the calls so far whose method and path begin so.
func (s *Server) Calls(method, path string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool { return c.Method != method || !strings.HasPrefix(c.Path, path) })
}
