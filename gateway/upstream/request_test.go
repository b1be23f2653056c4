package upstream_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

func TestOtherRequestsPassThrough(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		got, err := c.Request(within(t), upstream.Request{
			Method: "prompts/get", Params: json.RawMessage(`{"name":"p<1>","n":9007199254740993,"_meta":{"progressToken":1,"x":1.0}}`),
		})
		if err != nil || string(got) != fix.ExactPrompt {
			t.Errorf("got %s, %v", got, err)
		}
		want := `"method":"prompts/get","params":{"name":"p<1>","n":9007199254740993,"_meta":{"x":1.0}}}`
		if trace := fileLines(t, opts.Trace); count(trace, want) != 1 {
			t.Errorf("the server received %q", trace)
		}
	})
}

func TestRequestsThatAreNotPassedOn(t *testing.T) {
	f := newFixture(t)
	c, _ := start(t, f.server, quickConfig())
	for _, method := range []string{"", "initialize", "tools/call", "server/discover", `x","y":"`, "a b"} {
		_, err := c.Request(within(t), upstream.Request{Method: method})
		var input *upstream.InputError
		if !errors.As(err, &input) {
			t.Errorf("%q: %v", method, err)
		}
	}
}

func TestOtherNotificationsAreToldOn(t *testing.T) {
	servers := map[string]upstream.Server{"stdio": newFixture(t).server, "http": serveFixture(t).server}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			told := make(chan string, 16)
			cfg := quickConfig()
			cfg.OnNotify = func(method string, params json.RawMessage) { told <- method + string(params) }
			c, _ := start(t, server, cfg)
			mustCall(t, c, "update", `{}`)
			if got := <-told; got != `notifications/resources/updated{"uri":"file:///x","big":9007199254740993}` {
				t.Errorf("told %s", got)
			}
			if h := c.Health(); !strings.Contains(string(h.Capabilities), "listChanged") {
				t.Errorf("capabilities %s", h.Capabilities)
			}
		})
	}
}
