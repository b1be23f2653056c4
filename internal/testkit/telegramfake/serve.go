package telegramfake

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Call is one request of the bot, in the order of arrival.
type Call struct {
	Method string
	// Params are the parameters as text; JSON objects as JSON.
	Params map[string]string
	// Files are uploads by parameter name.
	Files map[string]File
	At    time.Time
	// Done is true once the answer was written; Code is its error_code, 200
	// for success, 0 when the connection was cut.
	Done bool
	Code int
	// Description of a refusal.
	Description string
}

// methods play the Bot API. Each is called without the lock.
var methods = map[string]func(*Server, *request) (any, error){
	"getMe":                  (*Server).getMe,
	"getUpdates":             (*Server).getUpdates,
	"getWebhookInfo":         (*Server).getWebhookInfo,
	"setWebhook":             (*Server).setWebhook,
	"deleteWebhook":          (*Server).deleteWebhook,
	"sendMessage":            (*Server).sendMessage,
	"sendDocument":           (*Server).sendDocument,
	"editMessageText":        (*Server).editMessageText,
	"editMessageReplyMarkup": (*Server).editMessageReplyMarkup,
	"deleteMessage":          (*Server).deleteMessage,
	"answerCallbackQuery":    (*Server).answerCallbackQuery,
	"sendChatAction":         (*Server).sendChatAction,
	"setMyCommands":          (*Server).setMyCommands,
	"getMyCommands":          (*Server).getMyCommands,
	"getChat":                (*Server).getChat,
}

var tokenForm = regexp.MustCompile(`^[0-9]{1,18}:[A-Za-z0-9_-]{3,}$`)

// ServeHTTP answers /bot<token>/<method>, GET and POST.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, err := s.route(r)
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	c, err := parse(r, method)
	if err != nil {
		s.dropUnread(w, r, err)
		return
	}
	s.checkParameters(c)
	entry := s.record(c)
	s.serve(w, c, entry)
}

// dropUnread answers a body that could not be read; a client that went away
// while sending gets nothing.
func (s *Server) dropUnread(w http.ResponseWriter, r *http.Request, err error) {
	var refused *apiError
	if r.Context().Err() == nil && errors.As(err, &refused) {
		writeAnswer(w, nil, err)
	}
}

// route checks the token and finds the method, whose case does not matter.
func (s *Server) route(r *http.Request) (string, error) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	if !ok {
		return "", errNotFound
	}
	token, name, ok := strings.Cut(rest, "/")
	switch {
	case !ok:
		return "", errNotFound
	case !tokenForm.MatchString(token):
		return "", errTokenForm
	case token != s.Token():
		return "", errUnauthorized
	}
	for method := range methods {
		if strings.EqualFold(method, name) {
			return method, nil
		}
	}
	s.t.Errorf("telegramfake: the method %q is not played by this fake", name)
	return "", errMethod
}

// serve performs one call, with the fault that meets it, if any.
func (s *Server) serve(w http.ResponseWriter, c *request, entry *Call) {
	fault := s.meetFault(c)
	var result any
	var err error
	if fault == nil || fault.PerformFirst || fault.harmless() {
		result, err = methods[c.method](s, c)
	}
	if fault != nil && !fault.delay(c.ctx, s.done) {
		s.finish(entry, 0, "")
		panic(http.ErrAbortHandler)
	}
	if fault != nil && !fault.harmless() {
		s.finish(entry, fault.code(), fault.Description)
		fault.answer(w, result)
		return
	}
	if errors.Is(err, errGone) {
		s.finish(entry, 0, "")
		panic(http.ErrAbortHandler)
	}
	s.finish(entry, codeOf(err), textOf(err))
	writeAnswer(w, result, err)
}

// errGone means that nobody waits for the answer any more.
var errGone = errors.New("the client has gone")

func (s *Server) record(c *request) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := &Call{Method: c.method, Params: c.values, Files: c.files, At: s.opts.Clock()}
	s.calls = append(s.calls, entry)
	s.touchLocked()
	return entry
}

func (s *Server) finish(entry *Call, code int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry.Done, entry.Code, entry.Description = true, code, text
	s.touchLocked()
}
