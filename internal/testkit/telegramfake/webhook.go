package telegramfake

import (
	"net/url"
	"regexp"
	"time"
)

// hook is a webhook and what became of its calls.
type hook struct {
	url, secret string
	set         time.Time
	// stop ends the calls, nil when this fake makes none.
	stop      chan struct{}
	lastError string
	failedAt  time.Time
}

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// hookPause lies between two setWebhook calls, as the open server wants it.
const hookPause = time.Second

// SetWebhook does what somebody else with the token may do: it ends the poll
// that is held, and refuses later ones while address is not empty. Nobody is
// called there.
func (s *Server) SetWebhook(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setHookLocked(hook{url: address})
}

func (s *Server) setHookLocked(h hook) {
	if stop := s.queue.hook.stop; stop != nil {
		close(stop)
	}
	h.set = s.opts.Clock()
	s.queue.hook = h
	if h.url != "" {
		s.endPollLocked(errHookSet)
	}
	s.touchLocked()
}

func (s *Server) setWebhook(c *request) (any, error) {
	address, secret := c.values["url"], c.values["secret_token"]
	if c.bool("drop_pending_updates") {
		s.t.Errorf("telegramfake: pending updates must never be dropped: taps are among them")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, badRequest("invalid webhook URL specified")
	case u.Scheme != "https" && !s.opts.AllowHTTP:
		return nil, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	case secret != "" && !secretForm.MatchString(secret):
		return nil, badRequest("secret token contains unallowed characters")
	}
	if n := c.int("max_connections"); c.values["max_connections"] != "" && (n < 1 || n > 100) {
		s.t.Errorf("telegramfake: max_connections is 1 to 100, not %d", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.hook.url != "" && s.opts.Clock().Sub(s.queue.hook.set) < hookPause {
		return nil, &apiError{code: 429, text: "Too Many Requests: retry after 1", retryAfter: 1}
	}
	if err := s.allowLocked(c); err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	s.setHookLocked(hook{url: address, secret: secret, stop: stop})
	s.hooks.Go(func() { s.callHook(address, secret, stop) })
	return true, nil
}

func (s *Server) getWebhookInfo(*request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.queue.hook
	info := map[string]any{"url": h.url, "has_custom_certificate": false, "pending_update_count": len(s.queue.waiting)}
	if h.lastError != "" {
		info["last_error_message"], info["last_error_date"] = h.lastError, h.failedAt.Unix()
	}
	return info, nil
}

func (s *Server) deleteWebhook(c *request) (any, error) {
	if c.bool("drop_pending_updates") {
		s.t.Errorf("telegramfake: pending updates must never be dropped: taps are among them")
	}
	s.SetWebhook("")
	return true, nil
}

// Webhook is the address that the bot has set, empty for none.
func (s *Server) Webhook() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.hook.url
}

// WaitWebhook blocks until a webhook at the address is set; "" waits for its end.
func (s *Server) WaitWebhook(address string) {
	s.t.Helper()
	s.wait("the webhook "+address, func() bool { return s.queue.hook.url == address })
}
