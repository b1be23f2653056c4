package slackfake

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// CallAt makes app n receive by HTTP at address in place of a socket. What the
// address answers in time with 200 is acknowledged; Slack sends an event again
// for anything else, unless the answer says X-Slack-No-Retry.
func (s *Server) CallAt(n int, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[n].address = address
	waiting := s.apps[n].waiting
	s.apps[n].waiting = nil
	for _, sent := range waiting {
		s.attempt(sent)
	}
}

// Sign is the headers by which app n's receiver knows that Slack sent body at
// that time.
func (s *Server) Sign(n int, at time.Time, body []byte) http.Header {
	return signature(s.App(n).SigningSecret, at, body)
}

func signature(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return http.Header{
		"X-Slack-Request-Timestamp": {stamp},
		"X-Slack-Signature":         {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

// wireForm is a payload as it goes over HTTP.
func wireForm(kind string, payload json.RawMessage) (contentType string, body []byte) {
	const form = "application/x-www-form-urlencoded"
	switch kind {
	case Interactive:
		return form, []byte(url.Values{"payload": {string(payload)}}.Encode())
	case SlashCommands:
		var fields map[string]string
		_ = json.Unmarshal(payload, &fields)
		values := url.Values{}
		for key, value := range fields {
			values.Set(key, value)
		}
		return form, []byte(values.Encode())
	}
	return "application/json", payload
}

// request is one call of the app's address, retries included.
func (s *Server) request(d *Delivery) *http.Request {
	kind, body := wireForm(d.Type, d.sent.payload)
	r, err := http.NewRequest(http.MethodPost, d.sent.app.address, bytes.NewReader(body))
	if err != nil {
		s.t.Errorf("slackfake: %v", err)
		return nil
	}
	// Signatures are checked against the receiver's own clock.
	r.Header = signature(d.sent.app.SigningSecret, time.Now(), body)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	if d.Attempt > 0 {
		r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(d.Attempt))
		r.Header.Set("X-Slack-Retry-Reason", d.Reason)
	}
	return r
}

// call delivers d by HTTP; the caller holds mu.
func (s *Server) call(d *Delivery) {
	r := s.request(d)
	if r == nil {
		return
	}
	s.work.Go(func() {
		client := &http.Client{Timeout: s.opts.AckTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Do(r)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.closed:
		case err != nil:
			if os.IsTimeout(err) && !s.allowUnacked {
				s.t.Errorf("slackfake: %s was not answered within %s: %v", d.sent.what, s.opts.AckTimeout, err)
			}
			d.sent.reason = "http_timeout"
			s.lost(d, "no answer in time")
		case response.StatusCode != http.StatusOK:
			d.Status, d.sent.reason = response.StatusCode, "http_error"
			if response.Header.Get("X-Slack-No-Retry") == "1" {
				d.sent.attempts = len(s.opts.RetryDelays)
			}
			s.lost(d, "answered "+response.Status)
		default:
			d.Status = response.StatusCode
			s.answered(d, body)
		}
	})
}
