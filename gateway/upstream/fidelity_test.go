package upstream_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

// odd are arguments that do not survive being decoded and encoded again.
var odd = []string{
	`{"b":9007199254740993,"a":123456789012345678901234567890}`,
	`{"z":1.0,"y":1e2,"x":null,"w":"<&>\u003c \ud83d\ude00 é"}`,
	`{ "a" : [ ] ,"a":{"A":1,"a":2} }`,
	`{"id":7,"method":"tools/call","jsonrpc":"2.0"}`,
	`{}`,
}

// both runs a test against the fixture as a process and over HTTP.
func both(t *testing.T, modes []string, test func(t *testing.T, c *upstream.Client, opts fix.Options)) {
	t.Run("stdio", func(t *testing.T) {
		f := newFixture(t, modes...)
		c, _ := start(t, f.server, quickConfig())
		test(t, c, f.opts)
	})
	t.Run("http", func(t *testing.T) {
		web := serveFixture(t, modes...)
		c, _ := start(t, web.server, quickConfig())
		test(t, c, web.opts)
	})
}

// Fault 34: numbers, order and unknown members, there and back.
func TestFault34BytesAreKept(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		if got := mustCall(t, c, "exact", `{}`); got != fix.ExactResult {
			t.Errorf("got  %s\nwant %s", got, fix.ExactResult)
		}
		for _, arguments := range odd {
			want := `{"content":[],"structuredContent":` + arguments + `}`
			if got := mustCall(t, c, "echo", arguments); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			mustCall(t, c, "record", arguments)
		}
		if got := fileLines(t, opts.Log); strings.Join(got, "\n") != strings.Join(odd, "\n") {
			t.Errorf("the server received %q", got)
		}
	})
}

// Fault 35: absent and null arguments are an empty object upstream.
func TestFault35NullArguments(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		mustCall(t, c, "record", ``)
		mustCall(t, c, "record", `null`)
		if got := fileLines(t, opts.Log); len(got) != 2 || got[0] != `{}` || got[1] != `{}` {
			t.Errorf("the server received %q", got)
		}
	})
}

// Line ends between tokens would end the message on stdio.
func TestPrettyArgumentsStayOneMessage(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		got := mustCall(t, c, "echo", "{\r\n\t\"a\": \"x\\ny\"\n}")
		if !strings.Contains(got, `"x\ny"`) {
			t.Errorf("got %s", got)
		}
	})
}

func TestArgumentsThatAreNoObjectAreNotSent(t *testing.T) {
	f := newFixture(t)
	c, _ := start(t, f.server, quickConfig())
	for _, arguments := range []string{`[]`, `7`, `{"a":1`, `{}},"x":{`, `{} {}`, `"x"`} {
		_, err := call(t, c, "record", arguments)
		var input *upstream.InputError
		if !errors.As(err, &input) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if got := f.logged(t); got != nil {
		t.Errorf("the server received %q", got)
	}
}

// Fault 37: 25 MiB pass; above the limit there is a clear error and the
// session lives on.
func TestFault37LargeResults(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		const size = 25 << 20
		if got := mustCall(t, c, "big", `{"bytes":26214400}`); len(got) < size {
			t.Errorf("%d bytes came", len(got))
		}
	})
}

func TestFault37OversizeResultFailsItsCallAlone(t *testing.T) {
	for name, server := range map[string]upstream.Server{
		"stdio": newFixture(t).server, "stream": serveFixture(t).server, "json": serveFixture(t, fix.JSONAnswers).server,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := quickConfig()
			cfg.MaxMessage = 256 << 10
			c, _ := start(t, server, cfg)
			mustCall(t, c, "login", `{"user":"ada"}`)
			_, err := call(t, c, "big", `{"bytes":1000000}`)
			var unusable *upstream.ResultError
			if !errors.As(err, &unusable) || !strings.Contains(err.Error(), "larger than the limit") {
				t.Errorf("call: %v", err)
			}
			if got := mustCall(t, c, "whoami", `{}`); !strings.Contains(got, "ada") {
				t.Errorf("the session was lost: %s", got)
			}
		})
	}
}

// Fault 18: what says nothing is no success.
func TestFault18MissingResultIsAnError(t *testing.T) {
	for _, mode := range []string{fix.NoResult, fix.NullResult, fix.EmptyResult, fix.BothAnswers} {
		both(t, []string{mode}, func(t *testing.T, c *upstream.Client, opts fix.Options) {
			got, err := call(t, c, "echo", `{}`)
			var unusable *upstream.ResultError
			if !errors.As(err, &unusable) || got != "" {
				t.Errorf("mode %s: %q, %v", mode, got, err)
			}
		})
	}
}

func TestErrorsOfTheServerKeepCodeAndData(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		_, err := call(t, c, "fail", `{}`)
		var rpc *upstream.RPCError
		if !errors.As(err, &rpc) || rpc.Code != -32050 || rpc.Message != "it failed on purpose" ||
			string(rpc.Data) != `{"big":9007199254740993}` {
			t.Errorf("error %#v", err)
		}
	})
}

// The caller's _meta goes on, without what speaks of its own hop.
func TestMetaIsKept(t *testing.T) {
	f := newFixture(t)
	c, _ := start(t, f.server, quickConfig())
	_, err := c.Call(within(t), upstream.CallRequest{
		Tool:  "record",
		Meta:  json.RawMessage(`{"traceparent":"00-1-2-01","big":9007199254740993,"progressToken":5,"io.modelcontextprotocol/clientInfo":{}}`),
		Extra: json.RawMessage(`{"requestState":"<s>","name":"other","_meta":{}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `"params":{"name":"record","arguments":{},"requestState":"<s>","_meta":{"traceparent":"00-1-2-01","big":9007199254740993}}}`
	if trace := f.traced(t); !strings.HasSuffix(trace[len(trace)-1], want) && count(trace, want) != 1 {
		t.Errorf("the server received %q", trace)
	}
}
