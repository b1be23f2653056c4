package telegramfake

import (
	"io"
	"mime/multipart"
	"net/http"
)

// apiError is an answer with ok=false.
type apiError struct {
	code       int
	text       string
	retryAfter int
	migrateTo  int64
}

func (e *apiError) Error() string { return e.text }

func badRequest(text string) *apiError {
	return &apiError{code: http.StatusBadRequest, text: "Bad Request: " + text}
}

func forbidden(text string) *apiError {
	return &apiError{code: http.StatusForbidden, text: "Forbidden: " + text}
}

func conflict(text string) *apiError {
	return &apiError{code: http.StatusConflict, text: "Conflict: " + text}
}

var (
	errNotFound     = &apiError{code: http.StatusNotFound, text: "Not Found"}
	errMethod       = &apiError{code: http.StatusNotFound, text: "Not Found: method not found"}
	errUnauthorized = &apiError{code: http.StatusUnauthorized, text: "Unauthorized"}
	errTokenForm    = &apiError{code: http.StatusUnauthorized, text: "Unauthorized: invalid token specified"}
	errSecondPoller = conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
	errHookActive   = conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	errHookSet      = conflict("terminated by setWebhook request")
	errOldQuery     = badRequest("query is too old and response timeout expired or query ID is invalid")
	errNotModified  = badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	errBlocked      = forbidden("bot was blocked by the user")
	errDeactivated  = forbidden("user is deactivated")
	errNoInitiative = forbidden("bot can't initiate conversation with a user")
	errKicked       = forbidden("bot was kicked from the group chat")
)

func multipartReader(body io.Reader, boundary string) *multipart.Reader {
	return multipart.NewReader(body, boundary)
}
