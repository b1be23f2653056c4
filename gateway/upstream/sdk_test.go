package upstream_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/gateway/upstream"
)

const sdkEnv = "HOLM_SDK_SERVER"

// runSDKServerIfAsked makes the test binary a server built with the Go SDK.
func runSDKServerIfAsked() {
	if os.Getenv(sdkEnv) == "" {
		return
	}
	if err := newSDKServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

type greeting struct {
	Name string `json:"name"`
}

func newSDKServer(versions ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: versions})
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + in.Name}}}, nil, nil
	})
	return s
}

func checkSDK(t *testing.T, server upstream.Server, protocol string) {
	t.Helper()
	c, _ := start(t, server, quickConfig())
	tools, err := c.Tools(within(t))
	if err != nil || len(tools) != 1 || tools[0].Name != "greet" {
		t.Fatalf("Tools = %v, %v", tools, err)
	}
	if got := mustCall(t, c, "greet", `{"name":"Ada"}`); !strings.Contains(got, "hello Ada") {
		t.Errorf("result %s", got)
	}
	if h := c.Health(); h.Protocol != protocol || !strings.Contains(string(h.ServerInfo), `"sdk"`) {
		t.Errorf("health %+v", h)
	}
}

func TestSDKServerOverStdio(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	checkSDK(t, upstream.Server{Name: "sdk", Command: []string{self}, Env: map[string]string{sdkEnv: "1"}}, "2025-11-25")
}

func serveSDK(t *testing.T, opts *mcp.StreamableHTTPOptions, versions ...string) string {
	t.Helper()
	sdk := newSDKServer(versions...)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, opts))
	t.Cleanup(web.Close)
	return web.URL
}

func TestSDKServerOverHTTP(t *testing.T) {
	checkSDK(t, upstream.Server{Name: "sdk", URL: serveSDK(t, nil)}, "2025-11-25")
}

func TestSDKServerOverHTTPWithJSONAnswers(t *testing.T) {
	checkSDK(t, upstream.Server{Name: "sdk", URL: serveSDK(t, &mcp.StreamableHTTPOptions{JSONResponse: true})}, "2025-11-25")
}

func TestSDKServerWithoutSessions(t *testing.T) {
	checkSDK(t, upstream.Server{Name: "sdk", URL: serveSDK(t, &mcp.StreamableHTTPOptions{Stateless: true})}, "2025-11-25")
}

func TestSDKServerOfTheModernProtocolOnly(t *testing.T) {
	url := serveSDK(t, &mcp.StreamableHTTPOptions{Stateless: true}, "2026-07-28")
	checkSDK(t, upstream.Server{Name: "sdk", URL: url}, "2026-07-28")
}

// Protocol 2025-11-25 lets a server end a stream and be asked for the rest.
func TestSDKServerThatClosesTheStreamOfACall(t *testing.T) {
	sdk := newSDKServer()
	mcp.AddTool(sdk, &mcp.Tool{Name: "poll"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "after the break"}}}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}))
	defer web.Close()
	c, stop := start(t, upstream.Server{Name: "sdk", URL: web.URL}, quickConfig())
	defer stop()
	if got := mustCall(t, c, "poll", `{}`); !strings.Contains(got, "after the break") {
		t.Errorf("got %s", got)
	}
}
