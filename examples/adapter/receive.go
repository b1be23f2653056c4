package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// message is what Holm sends.
type message struct {
	Type    string    `json:"type"`
	To      string    `json:"to"`
	Message reference `json:"message"`
	Card    card      `json:"card"`
}

// reference is this adapter's own name for a letter: whose, and which.
type reference struct {
	Chat    string `json:"chat"`
	Message string `json:"message"`
}

const (
	// maxMessage bounds what Holm may send, in bytes.
	maxMessage = 1 << 20
	// maxAge is how old a signed message may be, and how far ahead its clock.
	maxAge = 5 * time.Minute
)

// receive takes what Holm sends. A letter that came twice, because an answer
// was lost, is there twice; its buttons decide once.
func (m *mailbox) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "cannot be read", http.StatusBadRequest)
		return
	}
	if !genuine(m.secret, r.Header.Get("Holm-Signature"), body, time.Now()) {
		http.Error(w, "not signed with the secret of this channel, or too old", http.StatusUnauthorized)
		return
	}
	var msg message
	if err := json.Unmarshal(body, &msg); err != nil {
		http.Error(w, "not a message", http.StatusBadRequest)
		return
	}
	switch msg.Type {
	case "send":
		id, ok := m.put(msg.To, msg.Card)
		if !ok {
			http.Error(w, "nobody of this name has a mailbox", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reference{Chat: msg.To, Message: id})
	case "update":
		if !m.change(msg.Message.Chat, msg.Message.Message, func(l *letter) { l.Card = msg.Card }) {
			http.Error(w, "there is no such letter any more", http.StatusGone)
		}
	default:
		http.Error(w, "no message of a known type", http.StatusBadRequest)
	}
}

// genuine tells whether Holm made a message and has sent it of late.
func genuine(secret []byte, header string, body []byte, now time.Time) bool {
	stamp, sum, ok := strings.Cut(header, ",v1=")
	stamp, isTime := strings.CutPrefix(stamp, "t=")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	given, hexErr := hex.DecodeString(sum)
	if !ok || !isTime || err != nil || hexErr != nil {
		return false
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > maxAge || age < -maxAge {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}
