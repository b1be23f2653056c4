package upstream

import (
	"context"
	"encoding/json"
)

// link is one connection to an upstream, from before its handshake to its end.
type link interface {
	// exchange sends f and returns the raw result object of its answer. Events
	// that come before the answer reach f.deliver before exchange returns. An
	// *UnavailableError means that nothing was accepted.
	exchange(ctx context.Context, f *flight) (json.RawMessage, error)
	// confirm posts the last message of a handshake.
	confirm(ctx context.Context, body []byte) error
	// speak fixes the protocol version that the handshake agreed on.
	speak(protocol string)
	// listen begins to take what the server sends outside calls.
	listen()
	// lost is closed when the connection can no longer be used, cause says why.
	lost() <-chan struct{}
	cause() error
	// close ends the connection and everything that belongs to it, in bounded
	// time. Calls in flight end with a *LostError.
	close()
}

// The methods and notifications this client speaks.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodPing       = "ping"
	methodListen     = "subscriptions/listen"

	noteInitialized = "notifications/initialized"
	noteCancelled   = "notifications/cancelled"
	noteProgress    = "notifications/progress"
	noteLog         = "notifications/message"
	notePrefix      = "notifications/"
	noteTools       = "notifications/tools/list_changed"
)

// notification renders a message without an answer; params may be nil.
func notification(method string, params json.RawMessage) []byte {
	if params == nil {
		return []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`)
	}
	return []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + string(params) + `}`)
}
