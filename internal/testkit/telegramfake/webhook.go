package telegramfake

// SetWebhook does what somebody else with the token may do: it ends the poll
// that is held, and refuses later ones while url is not empty.
func (s *Server) SetWebhook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.hook = url
	if url != "" {
		s.endPollLocked(errHookSet)
	}
}

func (s *Server) getWebhookInfo(*request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{
		"url": s.queue.hook, "has_custom_certificate": false, "pending_update_count": len(s.queue.waiting),
	}, nil
}

func (s *Server) deleteWebhook(c *request) (any, error) {
	if c.bool("drop_pending_updates") {
		s.t.Errorf("telegramfake: pending updates must never be dropped: taps are among them")
	}
	s.SetWebhook("")
	return true, nil
}
