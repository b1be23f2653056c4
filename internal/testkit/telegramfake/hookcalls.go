package telegramfake

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// hookTime is how long a call may take.
	hookTime = 60 * time.Second
	// longestPause between two calls, in units of Options.HookPause.
	longestPause = 64
)

// callHook delivers one update after the other, the next when the last was
// confirmed by a 2xx. The real server calls for several chats at once; in one
// chat it keeps this order.
func (s *Server) callHook(address, secret string, stop chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
		case <-s.done:
		}
		cancel()
	}()
	failures := 0
	for {
		s.mu.Lock()
		var next *update
		if again := s.queue.again; len(again) > 0 {
			next = again[0]
		} else if len(s.queue.waiting) > 0 {
			next = s.queue.waiting[0]
		}
		changed := s.changed
		s.mu.Unlock()
		if next == nil {
			if !received(ctx, s.done, changed) {
				return
			}
			continue
		}
		problem, after := s.callOnce(ctx, address, secret, next)
		if ctx.Err() != nil {
			return
		}
		if problem == "" {
			failures = 0
			s.confirmHooked(next)
			continue
		}
		s.hookFailed(stop, problem)
		if failures++; failures > 1 && after == 0 {
			after = s.opts.HookPause * time.Duration(min(1<<min(failures-2, 10), longestPause))
		}
		if !received(ctx, s.done, time.After(after)) {
			return
		}
	}
}

// callOnce gives what went wrong, and how long the other side asks to wait.
func (s *Server) callOnce(ctx context.Context, address, secret string, u *update) (problem string, after time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	body, err := json.Marshal(map[string]any{"update_id": u.id, u.kind: u.body})
	if err != nil {
		return err.Error(), 0
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err.Error(), 0
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "Connection refused", 0
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		s.checkHookAnswer(answer)
		return "", 0
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return "Wrong response from the webhook: " + resp.Status, time.Duration(seconds) * time.Second
}

// checkHookAnswer: a body that names a method would be run as a call.
func (s *Server) checkHookAnswer(body []byte) {
	var call struct{ Method string }
	if json.Unmarshal(body, &call) == nil && call.Method != "" {
		s.t.Errorf("telegramfake: a webhook answered with a call of %s, which this fake does not play", call.Method)
	}
}

func (s *Server) confirmHooked(u *update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue.again) > 0 && s.queue.again[0] == u {
		s.queue.again = s.queue.again[1:]
	} else if len(s.queue.waiting) > 0 && s.queue.waiting[0] == u {
		s.queue.waiting = s.queue.waiting[1:]
	}
	u.confirmed = time.Now()
	s.touchLocked()
}

func (s *Server) hookFailed(stop chan struct{}, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.hook.stop == stop {
		s.queue.hook.lastError, s.queue.hook.failedAt = problem, s.opts.Clock()
		s.touchLocked()
	}
}
