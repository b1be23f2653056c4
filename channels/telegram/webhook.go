package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"holm/bot"
)

const (
	// secretHeader carries what setWebhook was given.
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxUpdate is the most bytes of one update; Telegram's are some kilobytes.
	maxUpdate = 1 << 20
	// storeTime bounds one call: Telegram sends an update again that was not
	// confirmed, so waiting longer for a slow database gains nothing.
	storeTime = 15 * time.Second
)

// ServeWebhook implements bot.Webhook. Only Telegram knows the secret. An
// update is confirmed once it is stored; what is not comes again.
func (c *Channel) ServeWebhook(w http.ResponseWriter, r *http.Request, in bot.Inbox) {
	if c.secret == "" {
		http.Error(w, "telegram is polled here", http.StatusNotFound)
		return
	}
	given, wanted := sha256.Sum256([]byte(r.Header.Get(secretHeader))), sha256.Sum256([]byte(c.secret))
	if subtle.ConstantTimeCompare(given[:], wanted[:]) != 1 {
		http.Error(w, "not called with the secret of this webhook", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTime)
	defer cancel()
	body, ok := bot.ReadCall(w, r, maxUpdate, storeTime)
	if !ok {
		return
	}
	updates, err := withIDs([]json.RawMessage{body})
	if err != nil || !json.Valid(body) {
		http.Error(w, "not an update", http.StatusBadRequest)
		return
	}
	if err := in.Store(ctx, namespace, bot.Incoming{ID: strconv.FormatInt(updates[0].id, 10), Payload: body}); err != nil {
		c.log.Warn("a telegram update could not be stored", "error", c.redact(err))
		http.Error(w, "it could not be stored", http.StatusServiceUnavailable)
		return
	}
	c.setReceived(time.Now())
	w.WriteHeader(http.StatusOK)
}
