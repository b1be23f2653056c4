package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"holm/internal/db"
	"holm/internal/fault"
)

// Problem is a failure on the wire (RFC 9457). Code is stable; what else the
// failure tells of itself stands beside it as further members.
type Problem struct {
	_      struct{}       `additionalProperties:"true"`
	Title  string         `json:"title" doc:"The HTTP status in words."`
	Status int            `json:"status"`
	Code   string         `json:"code" doc:"What went wrong, for programs. Stable." example:"already_decided"`
	Detail string         `json:"detail" doc:"What went wrong, for people."`
	Errors []FieldProblem `json:"errors,omitempty" doc:"The parts of the request that cannot be used."`

	extension map[string]any
	header    http.Header
}

// FieldProblem is one part of a request that cannot be used. It never holds
// the value: that may be a secret.
type FieldProblem struct {
	Location string `json:"location,omitempty" example:"body.decision"`
	Message  string `json:"message"`
}

const problemType = "application/problem+json"

// statusOf is how kinds of failure look in HTTP. What is missing is a 500.
var statusOf = map[fault.Kind]int{
	fault.Invalid:         http.StatusUnprocessableEntity,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.Conflict:        http.StatusConflict,
	fault.Gone:            http.StatusGone,
	fault.Unavailable:     http.StatusServiceUnavailable,
	fault.Exhausted:       http.StatusTooManyRequests,
}

// codeOf is the code of refusals that carry none of their own.
var codeOf = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusNotAcceptable:         "not_acceptable",
	http.StatusRequestTimeout:        "timeout",
	http.StatusRequestEntityTooLarge: "too_large",
	http.StatusUnsupportedMediaType:  "unsupported_media_type",
	http.StatusUnprocessableEntity:   "invalid",
}

// retryAfter is when a caller may try again, in seconds.
const retryAfter = 5

// problem turns a failed call into what its caller is told. Failures whose
// text is not for outsiders are logged here and nowhere else.
func (s *server) problem(ctx context.Context, operation string, err error) *Problem {
	var known *fault.Error
	if db.IsUnavailable(err) {
		s.Log.Warn("the database does not answer", "operation", operation, "error", err)
		known = fault.New(fault.Unavailable, "unavailable", "the database does not answer now; try again soon")
	} else if unstorable(err) {
		known = fault.Invalidf("the request contains a character that cannot be stored, such as U+0000")
	} else if errors.As(err, &known); known == nil || statusOf[known.Kind] == 0 {
		if ctx.Err() == nil {
			s.Log.Error("a call failed", "operation", operation, "error", err)
		}
		known = fault.New(fault.Internal, "internal", "Holm failed; its log says why")
	}
	return problemOf(known)
}

// unstorable recognizes PostgreSQL's refusal of a text.
func unstorable(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Code == "22021" || answer.Code == "22P05")
}

func problemOf(known *fault.Error) *Problem {
	status := statusOf[known.Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	p := &Problem{Title: http.StatusText(status), Status: status, Code: known.Code, Detail: known.Message, header: http.Header{}}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.header.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	if status == http.StatusUnauthorized {
		p.header.Set("WWW-Authenticate", "Bearer")
	}
	if known.Data != nil {
		p.extension = members(known.Data)
	}
	return p
}

// members gives the members of an object; other data stands under "data".
func members(data any) map[string]any {
	var object map[string]any
	text, err := json.Marshal(data)
	if err != nil || json.Unmarshal(text, &object) != nil {
		return map[string]any{"data": data}
	}
	return object
}

// newProblem is a refusal that no package of ours gave: huma's, or of the
// front. What huma says of a 5xx is not for outsiders.
func newProblem(status int, message string, causes ...error) *Problem {
	p := &Problem{Title: http.StatusText(status), Status: status, Code: codeOf[status], Detail: message}
	if status >= http.StatusInternalServerError {
		p.Code, p.Detail = "internal", "Holm failed; its log says why"
		return p
	}
	for _, cause := range causes {
		p.Errors = append(p.Errors, fieldProblem(status, cause))
	}
	if status == http.StatusBadRequest && len(causes) > 0 {
		p.Code, p.Detail = "bad_json", "the body is not valid JSON"
	}
	return p
}

func fieldProblem(status int, cause error) FieldProblem {
	detailer, ok := cause.(huma.ErrorDetailer)
	if !ok {
		return FieldProblem{Message: "cannot be used"}
	}
	detail := detailer.ErrorDetail()
	field := FieldProblem{Location: detail.Location, Message: detail.Message}
	// A decoder's message may quote what it could not read.
	if strings.HasPrefix(field.Message, "json: ") {
		field.Message = "has a value of another type than is wanted here"
	}
	if status == http.StatusBadRequest && !isOwn(detail.Message) {
		field.Message = "is not valid JSON"
	}
	return field
}

// Error makes a Problem an error, as huma wants it.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is for huma.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders is for huma.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is for huma.
func (p *Problem) ContentType(string) string { return problemType }

// MarshalJSON puts further members beside the standard ones, which win.
func (p *Problem) MarshalJSON() ([]byte, error) {
	type plain Problem
	standard := members((*plain)(p))
	all := map[string]any{}
	maps.Copy(all, p.extension)
	maps.Copy(all, standard)
	return json.Marshal(all)
}

// writeProblem answers where huma is not reached.
func writeProblem(w http.ResponseWriter, p *Problem) {
	body, err := p.MarshalJSON()
	if err != nil {
		http.Error(w, http.StatusText(p.Status), p.Status)
		return
	}
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}
