package gateway

import (
	"strconv"
	"sync"
)

// exchanges finds the exchange that a message behind the protocol handler
// belongs to.
type exchanges struct {
	mu   sync.Mutex
	last uint64
	byID map[string]*exchange
}

func newExchanges() *exchanges { return &exchanges{byID: map[string]*exchange{}} }

func (e *exchanges) add(x *exchange) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	id := strconv.FormatUint(e.last, 36)
	e.byID[id] = x
	return id
}

func (e *exchanges) get(id string) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byID[id]
}

func (e *exchanges) remove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byID, id)
}
