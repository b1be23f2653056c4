package slack

import "sync"

// recent is a map that forgets its oldest entry when it is full.
type recent[V any] struct {
	mu    sync.Mutex
	max   int
	items map[string]V
	order []string
}

func newRecent[V any](max int) *recent[V] {
	return &recent[V]{max: max, items: make(map[string]V)}
}

func (r *recent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.items[key]
	return v, ok
}

// put keeps value under key unless another came first, and returns what is kept.
func (r *recent[V]) put(key string, value V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept, ok := r.items[key]; ok {
		return kept
	}
	if len(r.order) == r.max {
		delete(r.items, r.order[0])
		r.order = r.order[1:]
	}
	r.items[key] = value
	r.order = append(r.order, key)
	return value
}

func (r *recent[V]) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.items[key]; !ok {
		return
	}
	delete(r.items, key)
	for i, k := range r.order {
		if k == key {
			r.order = append(r.order[:i], r.order[i+1:]...)
			return
		}
	}
}
