package slack

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"holm/bot"
)

// largestCall is the most bytes a call of Slack's may have: a view of 250 kB
// grows threefold where it is sent as a form.
const largestCall = 2 << 20

// ServeWebhook takes what Slack sends by HTTP: events as JSON, interactions and
// slash commands as forms, all to one address. What says of no signature, or of
// one that is more than five minutes off, is refused before it is read, what is not
// signed with the app's secret before it is understood. The same body may come again
// meanwhile: the inbox keeps it once. What could not be stored is not acknowledged, so that
// Slack sends an event again and a person sees that a tap did not count.
func (c *Channel) ServeWebhook(w http.ResponseWriter, r *http.Request, in bot.Inbox) {
	if !c.events {
		http.Error(w, "slack is connected by a socket here", http.StatusNotFound)
		return
	}
	verifier, err := slackgo.NewSecretsVerifier(r.Header, c.signing)
	if err != nil {
		http.Error(w, "not signed with this app's secret, or not now", http.StatusUnauthorized)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	body, ok := bot.ReadCall(w, r, largestCall, storeTimeout)
	if !ok {
		return
	}
	_, _ = verifier.Write(body) // a hash takes everything
	if verifier.Ensure() != nil {
		http.Error(w, "not signed with this app's secret, or not now", http.StatusUnauthorized)
		return
	}
	c.link.delivered()
	kind, payload, ok := unwrap(r.Header.Get("Content-Type"), body)
	if !ok {
		http.Error(w, "neither an event, an interaction nor a command", http.StatusBadRequest)
		return
	}
	if challenge, ok := challengeOf(kind, payload); ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge)
		return
	}
	c.storeCall(ctx, w, kind, payload, in)
}

// storeCall acknowledges what is stored. A command that could not be stored is
// answered in words, since Slack's own would not say what to do.
func (c *Channel) storeCall(ctx context.Context, w http.ResponseWriter, kind string, payload json.RawMessage, in bot.Inbox) {
	e, ok := seal(kind, payload)
	if !ok {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	err := in.Store(ctx, namespace, bot.Incoming{ID: e.id, Payload: e.payload})
	if err == nil {
		c.link.recovered()
		w.WriteHeader(http.StatusOK)
		return
	}
	c.notStored(e, err)
	if e.apology != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(e.apology)
		return
	}
	http.Error(w, "it could not be stored", http.StatusServiceUnavailable)
}

// unwrap finds what was sent in a call's body: JSON is an event, a form is an
// interaction when it has a payload, and a command when it has a command.
func unwrap(contentType string, body []byte) (kind string, payload json.RawMessage, ok bool) {
	if !strings.HasPrefix(contentType, "application/x-www-form-urlencoded") {
		return socketmode.RequestTypeEventsAPI, body, json.Valid(body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil, false
	}
	if form.Has("payload") {
		payload := []byte(form.Get("payload"))
		return socketmode.RequestTypeInteractive, payload, json.Valid(payload)
	}
	if !form.Has("command") && !form.Has("ssl_check") {
		return "", nil, false
	}
	fields := make(map[string]string, len(form))
	for name := range form {
		fields[name] = form.Get(name)
	}
	payload, err = json.Marshal(fields)
	return socketmode.RequestTypeSlashCommands, payload, err == nil
}

// challengeOf is the answer by which Slack learns that an address is the app's
// own; it is no event. Its check of certificates wants an empty one.
func challengeOf(kind string, payload json.RawMessage) (string, bool) {
	var p struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
		SSLCheck  string `json:"ssl_check"`
		Command   string `json:"command"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return "", false
	}
	if kind == socketmode.RequestTypeSlashCommands {
		return "", p.SSLCheck != "" && p.Command == ""
	}
	return p.Challenge, kind == socketmode.RequestTypeEventsAPI && p.Type == "url_verification"
}
