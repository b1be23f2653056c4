package upstream_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holm/gateway/upstream"
)

// answerAll is the smallest MCP server: it answers each request with the same
// result and reads no more of it than the id.
func answerAll(result string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		_, rest, isRequest := bytes.Cut(body, []byte(`"id":`))
		if !isRequest {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		id, _, _ := bytes.Cut(rest, []byte(","))
		answer := result
		if bytes.Contains(body, []byte(`"initialize"`)) {
			answer = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":`+answer+`}`)
	})
}

// The reference is a plain POST with the same bodies, read to its end.
func BenchmarkHTTP(b *testing.B) {
	for name, size := range map[string]int{"64B": 64, "100kB": 100 << 10} {
		result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`
		web := httptest.NewServer(answerAll(result))
		b.Run("reference/"+name, func(b *testing.B) { benchPlain(b, web.URL) })
		b.Run("call/"+name, func(b *testing.B) {
			benchCalls(b, upstream.Server{Name: "bench", URL: web.URL}, "any", `{"x":1}`)
		})
		web.Close()
	}
}

func BenchmarkStdio(b *testing.B) {
	for name, size := range map[string]string{"64B": "64", "100kB": "102400"} {
		b.Run(name, func(b *testing.B) {
			benchCalls(b, newFixture(b).server, "big", `{"bytes":`+size+`}`)
		})
	}
}

func benchPlain(b *testing.B, url string) {
	b.ReportAllocs()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 68}}
	defer client.CloseIdleConnections()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any","arguments":{"x":1}}}`))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

func benchCalls(b *testing.B, server upstream.Server, tool, arguments string) {
	b.ReportAllocs()
	c, _ := start(b, server, quickConfig())
	req := upstream.CallRequest{Tool: tool, Arguments: json.RawMessage(arguments)}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Call(b.Context(), req); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
