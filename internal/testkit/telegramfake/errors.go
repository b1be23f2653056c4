package telegramfake

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
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

func codeOf(err error) int {
	var refused *apiError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &refused):
		return refused.code
	}
	return http.StatusInternalServerError
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// writeAnswer sends the envelope of the Bot API; the HTTP status is the error_code.
func writeAnswer(w http.ResponseWriter, result any, err error) {
	code := codeOf(err)
	body := map[string]any{"ok": err == nil}
	if err == nil {
		body["result"] = result
	} else {
		body["error_code"], body["description"] = code, err.Error()
	}
	var refused *apiError
	if errors.As(err, &refused) && (refused.retryAfter > 0 || refused.migrateTo != 0) {
		body["parameters"] = parametersOfError(refused)
	}
	w.Header().Set("Content-Type", "application/json")
	if refused != nil && refused.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refused.retryAfter))
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone: its matter
}

func parametersOfError(e *apiError) map[string]any {
	if e.migrateTo != 0 {
		return map[string]any{"migrate_to_chat_id": e.migrateTo}
	}
	return map[string]any{"retry_after": e.retryAfter}
}
