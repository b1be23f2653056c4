package upstream

import (
	"encoding/json"
	"sync"
	"time"
)

// patience is how long a call is waited for: span without a sign of progress,
// and never beyond the end.
type patience struct {
	mu    sync.Mutex
	timer *time.Timer
	span  time.Duration
	end   time.Time
}

func newPatience(span, longest time.Duration, over func()) *patience {
	span = min(span, longest)
	return &patience{span: span, end: time.Now().Add(longest), timer: time.AfterFunc(span, over)}
}

func (p *patience) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Reset(max(0, min(p.span, time.Until(p.end))))
}

func (p *patience) stop() { p.timer.Stop() }

// hearer hands progress and log messages to those who asked for them.
func hearer(onProgress, onLog func(json.RawMessage), patience *patience) func(*message) {
	return func(m *message) {
		switch {
		case m.method == noteProgress && onProgress != nil:
			patience.renew()
			onProgress(without(m.params, "progressToken"))
		case m.method == noteLog && onLog != nil:
			onLog(m.params)
		}
	}
}
