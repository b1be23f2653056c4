package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// protocolOffer is the newest revision with an initialize handshake.
const protocolOffer = "2025-11-25"

// protocolsKnown are the revisions a server may choose in its answer.
var protocolsKnown = map[string]bool{
	protocolOffer: true, "2025-06-18": true, "2025-03-26": true, "2024-11-05": true,
}

// greet does the initialize handshake. Nothing is sent before it, least of all
// server/discover: old stdio servers hang or die on requests they do not know.
func greet(ctx context.Context, l link, clientInfo json.RawMessage) (terms, error) {
	f := newFlight(methodInitialize, json.RawMessage(
		`{"protocolVersion":"`+protocolOffer+`","capabilities":{},"clientInfo":`+string(clientInfo)+`}`))
	result, err := l.exchange(ctx, f)
	if err != nil {
		return terms{}, err
	}
	t := readTerms(result)
	if !protocolsKnown[t.protocol] {
		return terms{}, fmt.Errorf("the server speaks protocol %.40q, which is not known here", t.protocol)
	}
	l.speak(t.protocol)
	return t, l.confirm(ctx, notification(noteInitialized, nil))
}

func readTerms(result json.RawMessage) terms {
	var t terms
	_ = members(result, func(key string, value json.RawMessage) {
		switch key {
		case "protocolVersion":
			t.protocol = unquote(value)
		case "serverInfo":
			t.info = value
		case "capabilities":
			t.abilities = value
		case "_meta":
			t.info = member(value, metaPrefix+"serverInfo", t.info)
		}
	})
	return t
}

// member is a member of an object, or instead.
func member(object json.RawMessage, name string, instead json.RawMessage) json.RawMessage {
	_ = members(object, func(key string, value json.RawMessage) {
		if key == name {
			instead = value
		}
	})
	return instead
}

// discover is the handshake of protocol 2026-07-28, for servers that refused
// initialize.
func discover(ctx context.Context, l link, hop json.RawMessage) (terms, error) {
	l.speak(protocolModern)
	f := newFlight(methodDiscover, json.RawMessage(`{"_meta":{`+string(hop)+`}}`))
	result, err := l.exchange(ctx, f)
	if err != nil {
		return terms{}, err
	}
	t := readTerms(result)
	t.protocol = protocolModern
	speaks := false
	_ = elements(member(result, "supportedVersions", nil), func(value json.RawMessage) {
		speaks = speaks || unquote(value) == protocolModern
	})
	if !speaks {
		return terms{}, fmt.Errorf("the server does not speak protocol %s", protocolModern)
	}
	return t, nil
}

// refusesHandshake tells whether an initialize failed in the way in which a
// server without sessions refuses it, rather than for its time or our keys.
func refusesHandshake(err error) bool {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == -32022 || rpc.Code == -32601 || rpc.Code == -32600
	}
	var refused *UnavailableError
	return errors.As(err, &refused) && !refused.Retryable
}
