package policy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holm/policy"
)

func mustArgs(t testing.TB, text string) policy.Args {
	t.Helper()
	args, err := policy.ParseArgs(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func TestCanonicalArgs(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"absent", ``, `{}`},
		{"null", ` null `, `{}`},
		{"empty", "{\n}", `{}`},
		{"sorted at each depth, without spaces", `{ "b" : [ {"z":1, "y":2} , 3 ], "a" : {} }`, `{"a":{},"b":[{"y":2,"z":1},3]}`},
		{"numbers keep their spelling", `{"a":9007199254740993,"b":1.0,"c":1E+2,"d":-0}`, `{"a":9007199254740993,"b":1.0,"c":1E+2,"d":-0}`},
		{"short escapes", `{"a":"\u0022\u005c\u0008\u000c\u000a\u000d\u0009\u001f\u002f\u00e9"}`, `{"a":"\"\\\b\f\n\r\t\u001f/é"}`},
		{"no escape for what HTML fears", `{"a":"<&>\u2028"}`, "{\"a\":\"<&>\u2028\"}"},
		{"a pair before U+FB33 however they come", `{"a":{"\ud83d\ude00":1,"\ufb33":2},"b":{"\ufb33":2,"\ud83d\ude00":1}}`, "{\"a\":{\"😀\":1,\"\ufb33\":2},\"b\":{\"😀\":1,\"\ufb33\":2}}"},
		{"UTF-16 order", `{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"a":4,"ab":5,"\r":6,"\ufb33a":7}`, "{\"\\r\":6,\"a\":4,\"ab\":5,\"€\":3,\"😀\":2,\"\ufb33\":1,\"\ufb33a\":7}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := mustArgs(t, c.in)
			if got := string(args.Canonical()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := string(args.Raw()); got != c.in {
				t.Errorf("the raw bytes changed to %q", got)
			}
		})
	}
}

func TestArgsDigest(t *testing.T) {
	const empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // sha256sum of {}
	for _, text := range []string{``, `null`, `{}`} {
		if got := policy.ArgsDigest(mustArgs(t, text)); got != empty {
			t.Errorf("the digest of %q is %s", text, got)
		}
	}
	if policy.ArgsDigest(mustArgs(t, `{"a":1,"b":2}`)) != policy.ArgsDigest(mustArgs(t, `{"b":2, "a":1}`)) {
		t.Error("the order of members changes the digest")
	}
	if policy.ArgsDigest(mustArgs(t, `{"a":9007199254740992}`)) == policy.ArgsDigest(mustArgs(t, `{"a":9007199254740993}`)) {
		t.Error("two numbers have one digest")
	}
}

func TestArgsAreACopy(t *testing.T) {
	raw := []byte(`{"a":"b"}`)
	args, err := policy.ParseArgs(raw)
	if err != nil {
		t.Fatal(err)
	}
	raw[6] = 'x'
	args.Raw()[6] = 'y'
	if got := string(args.Canonical()); got != `{"a":"b"}` {
		t.Errorf("the arguments changed to %s", got)
	}
}

func TestArgsStayOutOfLogs(t *testing.T) {
	args := mustArgs(t, `{"token":"s3cret"}`)
	for _, format := range []string{"%v", "%+v", "%s", "%#v"} {
		if got := fmt.Sprintf(format, args); got != "arguments of 18 bytes" {
			t.Errorf("%s prints %s", format, got)
		}
	}
	if got := fmt.Sprint(policy.Args{}); got != "arguments of 0 bytes" {
		t.Errorf("no arguments print %s", got)
	}
}

func TestArgsDepth(t *testing.T) {
	nested := func(depth int) string {
		return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
	}
	mustArgs(t, nested(64))
	for _, text := range []string{nested(65), `{"a":` + strings.Repeat(`[`, 1<<20)} {
		_, err := policy.ParseArgs([]byte(text))
		if err == nil || err.Error() != "args: nests too deeply (at position 69)" {
			t.Errorf("got %v", err)
		}
	}
}

func TestArgsRefuseInvalidUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"{\"é\":\"\xff\"}":         "args: is not valid UTF-8 (at position 8)",
		"{\"a\":\"\xed\xa0\x80\"}": "args: is not valid UTF-8 (at position 7)",
		"{\"a\":\"\x00\"}":         "args: a string is not closed or has a control character (at position 7)",
		"\ufeff{}":                 "args: want a value (at position 1)",
		" ":                        "args: want a value (at position 2)",
	} {
		if _, err := policy.ParseArgs([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestLongKeysAreClipped(t *testing.T) {
	key := strings.Repeat("é", 100)
	_, err := policy.ParseArgs([]byte(`{"` + key + `":1,"` + key + `":2}`))
	if err == nil || len(err.Error()) > 160 || !strings.Contains(err.Error(), "…") {
		t.Errorf("got %v", err)
	}
}

// FuzzArgs compares with encoding/json, which is laxer, and checks that the
// canonical form is a fixed point that says the same.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"a":[1,{"b":"\u0041\ud83d\ude00"}],"c":null}`, `{"a":1,"a":2}`, `{"a":-0.5e+3}`, `[{}]`, "{\"\xff\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := policy.ParseArgs(raw)
		if err != nil {
			return
		}
		if len(raw) > 0 && !json.Valid(raw) {
			t.Fatalf("accepted %q", raw)
		}
		canonical := args.Canonical()
		if again := mustArgs(t, string(canonical)).Canonical(); !bytes.Equal(canonical, again) {
			t.Fatalf("%q becomes %q", canonical, again)
		}
		if string(bytes.TrimSpace(raw)) != "null" && len(raw) > 0 && decoded(t, raw) != decoded(t, canonical) {
			t.Fatalf("%q and %q differ", raw, canonical)
		}
	})
}

// decoded is what encoding/json understands, in a form that can be compared.
func decoded(t *testing.T, raw []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(value)
}
