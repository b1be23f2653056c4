package upstream

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decode reads JSON with its numbers as text.
func decode(t *testing.T, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// Whatever is valid JSON is taken apart without a panic, into the parts that
// encoding/json finds in it.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` { "a" : [ ] , "b\u0041" : { "}" : "\"]" } , "" : null }`, `{"a":1,"a":2}`,
		`[1, "x,]" ,{"a":[{}]},-1.5e3,true]`, `{"a":"\\"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `7`, `"x"`,
		`"long enough for whole words \\u00e9 and\\n"`, `-0.0E+1`, `01`, `[1,]`, `"\\x"`, "\"12345678\x01\"", `{"a" 1}`, `truE`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := valid(data); got != json.Valid(data) {
			t.Fatalf("valid(%q) = %v", data, got)
		} else if !got {
			return
		}
		found := map[string]any{}
		if members(data, func(key string, value json.RawMessage) { found[key] = decode(t, value) }) == nil {
			if diff := cmp.Diff(decode(t, data), any(found)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", data, diff)
			}
		}
		list := []any{}
		if elements(data, func(value json.RawMessage) { list = append(list, decode(t, value)) }) == nil {
			if diff := cmp.Diff(decode(t, data), any(list)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", data, diff)
			}
		}
	})
}

// What a server sends never brings the reader down.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1.5}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"holm-1"}},7]`))
	hide := newRedactor(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _ := parse(data)
		for _, m := range all {
			if m == nil {
				continue
			}
			result, err := m.answer("x", hide)
			if err == nil && !isObject(result) {
				t.Errorf("%q gives the result %q", data, result)
			}
			newFlights().byToken(m.params)
		}
	})
}

func TestDepthIsBounded(t *testing.T) {
	for depth, want := range map[int]bool{maxDepth: true, maxDepth + 1: false, 1_000_000: false} {
		data := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		if got := valid(data); got != want || got != json.Valid(data) {
			t.Errorf("depth %d: %v", depth, got)
		}
	}
}
