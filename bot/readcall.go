package bot

import (
	"errors"
	"io"
	"net/http"
	"time"

	"holm/internal/fault"
	"holm/internal/intake"
)

// ReadCall reads the body of a platform's call for a Webhook: at most limit bytes,
// and who sends nothing more is not waited for longer than patience. Where ok is
// false the call has been answered.
func ReadCall(w http.ResponseWriter, r *http.Request, limit int64, patience time.Duration) (body []byte, ok bool) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case fault.Is(err, intake.CodeBusy), fault.Is(err, intake.CodeBusyCaller):
		refuseCall(w, err)
	case errors.As(err, &tooLarge):
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the body broke off", http.StatusBadRequest)
	}
	return body, err == nil
}

// refuseCall has the platform call again.
func refuseCall(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}
