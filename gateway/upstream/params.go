package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
)

// check refuses what would not be the JSON it claims to be: raw bytes are put
// into a message as they are and must not reach beyond their place in it.
func (r CallRequest) check() error {
	if r.Tool == "" {
		return &InputError{"the tool has no name"}
	}
	return errors.Join(
		checkObject("arguments", r.Arguments), checkObject("_meta", r.Meta), checkObject("extra", r.Extra))
}

func checkObject(name string, raw json.RawMessage) error {
	if isNull(raw) || (valid(raw) && isObject(raw)) {
		return nil
	}
	return &InputError{name + " must be a JSON object"}
}

// params renders the parameters of the call; hop is nil before 2026-07-28.
func (r CallRequest) params(f *flight, hop json.RawMessage) json.RawMessage {
	arguments := r.Arguments
	if isNull(arguments) {
		arguments = json.RawMessage(`{}`)
	}
	var b bytes.Buffer
	b.Grow(len(arguments) + len(r.Meta) + len(r.Extra) + 128)
	b.WriteString(`{"name":`)
	b.Write(quote(r.Tool))
	b.WriteString(`,"arguments":`)
	b.Write(arguments)
	r.writeExtra(&b)
	writeMeta(&b, meta(r.Meta, f, r.OnProgress != nil, hop))
	b.WriteByte('}')
	return b.Bytes()
}

// writeExtra adds the other members; those this request has already are left out.
func (r CallRequest) writeExtra(b *bytes.Buffer) {
	_ = members(r.Extra, func(key string, value json.RawMessage) {
		if key != "name" && key != "arguments" && key != "_meta" {
			writeMember(b, key, value)
		}
	})
}

// writeMember adds a member behind another one.
func writeMember(b *bytes.Buffer, key string, value json.RawMessage) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.Write(quote(key))
	b.WriteByte(':')
	b.Write(value)
}

// meta renders the members of _meta, without the braces: the caller's, and ours.
func meta(caller json.RawMessage, f *flight, wantsProgress bool, hop json.RawMessage) []byte {
	var b bytes.Buffer
	_ = members(caller, func(key string, value json.RawMessage) {
		if !hopKeys[key] {
			writeMember(&b, key, value)
		}
	})
	if wantsProgress {
		writeMember(&b, "progressToken", json.RawMessage(`"`+f.token()+`"`))
	}
	if hop != nil {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.Write(hop)
	}
	return b.Bytes()
}

// writeMeta adds _meta behind other members, or first, unless it is empty.
func writeMeta(b *bytes.Buffer, meta []byte) {
	if len(meta) == 0 {
		return
	}
	if b.Bytes()[b.Len()-1] != '{' {
		b.WriteByte(',')
	}
	b.WriteString(`"_meta":{`)
	b.Write(meta)
	b.WriteByte('}')
}

// quote is s as a JSON string, without the escapes for HTML that would make it
// another text than the one that was sent to us.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always marshals
	return bytes.TrimRight(b.Bytes(), "\n")
}

// without is an object without one of its members, the others as they were.
func without(object json.RawMessage, name string) json.RawMessage {
	var b bytes.Buffer
	_ = members(object, func(key string, value json.RawMessage) {
		if key != name {
			writeMember(&b, key, value)
		}
	})
	return json.RawMessage("{" + b.String() + "}")
}
