package channeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holm/bot"
)

// inbox keeps events in memory.
type inbox struct {
	mu      sync.Mutex
	stored  map[string]json.RawMessage
	order   []string
	stores  int
	before  func() error
	changed chan struct{}
}

func newInbox() *inbox {
	return &inbox{stored: map[string]json.RawMessage{}, changed: make(chan struct{})}
}

func (in *inbox) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	for _, e := range events {
		if err := in.keep(ctx, namespace, e.ID, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (in *inbox) keep(ctx context.Context, _, eventID string, payload json.RawMessage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in.mu.Lock()
	before := in.before
	in.mu.Unlock()
	var err error
	if before != nil {
		err = before()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stores++
	if _, known := in.stored[eventID]; !known && err == nil {
		in.stored[eventID] = payload
		in.order = append(in.order, eventID)
	}
	close(in.changed)
	in.changed = make(chan struct{})
	return err
}

func (in *inbox) LastID(context.Context, string) (int64, error) { return 0, nil }

// until waits for seen, which is called with the lock held.
func (in *inbox) until(t *testing.T, what string, seen func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		in.mu.Lock()
		ok, changed := seen(), in.changed
		in.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// taps are the taps that were stored, with how many.
func (in *inbox) taps(t *testing.T, ch bot.Channel) (events []bot.Event) {
	t.Helper()
	for _, id := range in.order {
		ev, ok, err := ch.Decode(in.stored[id])
		if err != nil {
			t.Errorf("decode what was stored: %v", err)
		}
		if ok && ev.Kind == bot.Tap {
			events = append(events, ev)
		}
	}
	return events
}

// nth waits for the nth tap.
func (in *inbox) nth(t *testing.T, ch bot.Channel, n int) (ev bot.Event) {
	t.Helper()
	in.until(t, fmt.Sprintf("tap %d", n), func() bool {
		events := in.taps(t, ch)
		if len(events) < n {
			return false
		}
		ev = events[n-1]
		return true
	})
	return ev
}

// listen runs the channel until the end of the test.
func (h *Harness) listen(t *testing.T) (in *inbox, stop func()) {
	t.Helper()
	if h.Listening == nil {
		t.Skip("nothing comes in this way")
	}
	in = newInbox()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Channel.Run(ctx, in) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run ended with %v, want nil", err)
			}
		case <-time.After(patience):
			t.Error("Run did not end with its context")
		}
	})
	t.Cleanup(stop)
	h.Listening(t)
	return in, stop
}

func taps(t *testing.T, h *Harness) {
	in, _ := h.listen(t)
	ref := h.send(t, Card())
	h.Tap(t, h.Owner, ref, Approve)
	ev := in.nth(t, h.Channel, 1)
	if ev.Identity != h.Owner || ev.Token != approveToken || !ev.Direct {
		t.Errorf("the tap is %+v, want one of %s in the direct chat with the whole token", ev, h.Owner)
	}
	if ev.Message != (bot.MessageRef{}) && ev.Message != ref {
		t.Errorf("the tap was on %+v, want %+v", ev.Message, ref)
	}
	if err := h.Channel.Answer(t.Context(), ev, "recorded for you"); err != nil {
		t.Errorf("answer: %v", err)
	}
	if h.Told != nil {
		h.Told(t, h.Owner, "recorded for you")
	}
	if err := h.Channel.Answer(t.Context(), ev, ""); err != nil {
		t.Errorf("answer a second time, with nothing: %v", err)
	}
	h.Tap(t, h.Owner, ref, Reject)
	ev = in.nth(t, h.Channel, 2)
	if ev.Token != rejectToken {
		t.Errorf("the second tap is %+v", ev)
	}
	_ = h.Channel.Answer(t.Context(), ev, "")
	if h.Stranger == "" {
		return
	}
	h.Tap(t, h.Stranger, ref, Approve)
	ev = in.nth(t, h.Channel, 3)
	if ev.Identity != h.Stranger || ev.Token != approveToken {
		t.Errorf("somebody else's tap is %+v, want one of %s", ev, h.Stranger)
	}
	_ = h.Channel.Answer(t.Context(), ev, "")
}

// storesBeforeItConfirms looks, at each store, whether the tap that is not
// stored yet was confirmed.
func storesBeforeItConfirms(t *testing.T, h *Harness) {
	if h.Confirmed == nil {
		t.Skip("the platform waits for no confirmation")
	}
	in, _ := h.listen(t)
	in.mu.Lock()
	in.before = func() error {
		if h.Confirmed() {
			t.Error("the tap was confirmed before it was stored")
		}
		return nil
	}
	in.mu.Unlock()
	ref := h.send(t, Card())
	h.Tap(t, h.Owner, ref, Reject)
	ev := in.nth(t, h.Channel, 1)
	in.mu.Lock()
	in.before = nil
	in.mu.Unlock()
	_ = h.Channel.Answer(t.Context(), ev, "")
	for late := time.Now().Add(patience); !h.Confirmed(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the tap was never confirmed")
		}
	}
}

func whatComesTwice(t *testing.T, h *Harness) {
	if h.Redeliver == nil {
		t.Skip("nothing comes twice")
	}
	in, _ := h.listen(t)
	ref := h.send(t, Card())
	h.Tap(t, h.Owner, ref, Reject)
	ev := in.nth(t, h.Channel, 1)
	_ = h.Channel.Answer(t.Context(), ev, "")
	in.mu.Lock()
	stores, known := in.stores, len(in.stored)
	in.mu.Unlock()
	h.Redeliver(t)
	in.until(t, "the second delivery", func() bool { return in.stores > stores })
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.stored) != known {
		t.Errorf("the same tap has two ids: %v", in.order)
	}
}

// decodesAnything: whatever stands in the inbox, Decode returns.
func decodesAnything(t *testing.T, h *Harness) {
	payloads := append([]json.RawMessage{
		nil, {}, []byte(`null`), []byte(`0`), []byte(`""`), []byte(`[]`), []byte(`{}`), []byte(`{`), []byte("\xff\x00"), []byte(`true`),
		[]byte(strings.Repeat(`{"a":`, 5000)), []byte(strings.Repeat(`[`, 5000)),
	}, h.Payloads...)
	if h.Listening != nil {
		in, stop := h.listen(t)
		ref := h.send(t, Card())
		h.Tap(t, h.Owner, ref, Reject)
		ev := in.nth(t, h.Channel, 1)
		_ = h.Channel.Answer(t.Context(), ev, "")
		stop()
		for _, payload := range in.stored {
			payloads = append(payloads, payload)
		}
	}
	for _, payload := range payloads {
		h.decode(t, payload)
		for _, mutant := range mutants(payload) {
			h.decode(t, mutant)
		}
		for n := 0; n < len(payload); n += 1 + len(payload)/200 {
			h.decode(t, payload[:n])
		}
	}
}

func (h *Harness) decode(t *testing.T, payload json.RawMessage) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("Decode(%.300q) panics: %v", payload, p)
		}
	}()
	if ev, ok, _ := h.Channel.Decode(payload); ok && ev.Kind == "" {
		t.Errorf("Decode(%.300q) gives an event of no kind: %+v", payload, ev)
	}
}

// mutants are payload with each value in turn replaced by others.
func mutants(payload json.RawMessage) (all []json.RawMessage) {
	for _, other := range []any{nil, -1, "x\u202e", true, []any{}, map[string]any{}, 1e300, []any{nil}} {
		for at := 0; ; at++ {
			var value any
			if json.Unmarshal(payload, &value) != nil {
				return nil
			}
			left := at
			value = replaced(value, other, &left)
			if left >= 0 {
				break // there are no more values
			}
			mutant, err := json.Marshal(value)
			if err == nil {
				all = append(all, mutant)
			}
		}
	}
	return all
}

// replaced replaces the value that left counts down to.
func replaced(value, other any, left *int) any {
	if *left == 0 {
		*left = -1
		return other
	}
	if *left < 0 {
		return value
	}
	*left--
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = replaced(v[key], other, left)
		}
	case []any:
		for i := range v {
			v[i] = replaced(v[i], other, left)
		}
	}
	return value
}

// answersAnything: an answer may fail, and does not panic or hang.
func answersAnything(t *testing.T, h *Harness) {
	for _, reply := range []json.RawMessage{nil, []byte(`null`), []byte(`{}`), []byte(`"x"`), []byte(`{"id":1}`), []byte("\xff")} {
		for _, text := range []string{"", "text", strings.Repeat("long ", 2000), "\u202e<b>"} {
			_ = h.Channel.Answer(t.Context(), bot.Event{Kind: bot.Tap, Identity: h.Owner, Reply: reply}, text)
		}
	}
}

// stopsWithItsContext: Run returns nil and leaves nothing running; a channel
// can be stopped before it began.
func stopsWithItsContext(t *testing.T, h *Harness) {
	ours := "holm/channels/" + h.Channel.Namespace()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Channel.Run(ctx, newInbox()); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run with an ended context: %v", err)
	}
	if h.Listening != nil {
		_, stop := h.listen(t)
		h.send(t, Card())
		stop()
	}
	late := time.Now().Add(patience)
	for stacks := running(ours); len(stacks) > 0; stacks = running(ours) {
		if time.Now().After(late) {
			t.Fatalf("still running after Run:\n%s", strings.Join(stacks, "\n\n"))
		}
		time.Sleep(time.Millisecond)
	}
}

// running are the goroutines with code of a package, tests left out.
func running(pkg string) (stacks []string) {
	buffer := make([]byte, 1<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	for stack := range strings.SplitSeq(string(buffer), "\n\n") {
		if strings.Contains(stack, pkg+".") && !strings.Contains(stack, "testing.tRunner") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
