//go:build unix

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// atOnce is how many calls are under way at one time.
	atOnce = 16
	// enough is how many calls make a figure: shorter runs only find out how many
	// calls fit into the time.
	enough = 50
)

// route is one way to the upstream.
type route struct {
	name   string
	url    string
	prefix string // of the tool's name
	meta   string // params._meta
	header http.Header
}

// modernMeta is what protocol 2026-07-28 asks of each request.
const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// BenchmarkCall measures one allowed call with a small and a large result, made
// directly, through a reverse proxy that does nothing else, and through the
// gateway in both eras of the protocol. cpu-ns/op is the processor time of this
// process: client, upstream and what lies between, without PostgreSQL's own.
// hop-ns/op is what it has above the lowest direct run, x-proxy that beside the
// proxy's lowest. A call that gets no answer fails the run, but the proxy's, which
// are counted: it loses some by itself.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{64, 100_000} {
		b.Run(fmt.Sprintf("result=%d", size), func(b *testing.B) {
			var direct, proxied []float64
			for _, r := range routes(b, size) {
				b.Run(r.name, func(b *testing.B) {
					each := measure(b, r, size)
					if b.N < enough {
						return
					}
					switch r.name {
					case "direct":
						direct = append(direct, each)
					case "proxy":
						proxied = append(proxied, each)
					}
					report(b, each, direct, proxied)
				})
			}
		})
	}
}

// report prints what lies between client and upstream.
func report(b *testing.B, each float64, direct, proxied []float64) {
	if len(direct) == 0 || len(proxied) == 0 {
		return
	}
	base := slices.Min(direct)
	b.ReportMetric(each-base, "hop-ns/op")
	b.ReportMetric((each-base)/(slices.Min(proxied)-base), "x-proxy")
}

// routes starts the upstream and everything in front of it.
func routes(b *testing.B, size int) []route {
	b.Helper()
	bare := httptest.NewServer(newUpstream([]int{size}))
	b.Cleanup(bare.Close)
	target, err := url.Parse(bare.URL)
	must(b, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.ErrorLog = manyConnections(), log.New(io.Discard, "", 0)
	front := httptest.NewServer(proxy)
	b.Cleanup(front.Close)
	r := newRig(b, bare.URL)
	modern := http.Header{
		"Authorization": {"Bearer " + r.key}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"mcp__up__" + toolOf(size)},
	}
	return []route{
		{name: "direct", url: bare.URL}, {name: "proxy", url: front.URL},
		{name: "gateway_stateless", url: r.url, prefix: "mcp__up__", meta: modernMeta, header: modern},
		{name: "gateway_session", url: r.url, prefix: "mcp__up__", header: openSession(b, r)},
	}
}

// openSession gives the headers of calls in a session of protocol 2025-11-25.
func openSession(b *testing.B, r *rig) http.Header {
	b.Helper()
	header := http.Header{"Authorization": {"Bearer " + r.key}}
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	resp, err := post(http.DefaultClient, r.url, header, hello)
	must(b, err)
	header.Set("Mcp-Session-Id", resp.Header.Get("Mcp-Session-Id"))
	header.Set("Mcp-Protocol-Version", "2025-11-25")
	must(b, drain(resp, nil))
	resp, err = post(http.DefaultClient, r.url, header, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	must(b, err)
	must(b, drain(resp, nil))
	return header
}

// body is the same call on each route, but for the tool's name and the era. A
// session refuses an id that is under way.
func (r route) body(id int64, size int) string {
	return `{"jsonrpc":"2.0","id":` + strconv.FormatInt(id, 10) + `,"method":"tools/call","params":{"name":"` + r.prefix + toolOf(size) +
		`","arguments":{"path":"/srv/3/data/file.txt","limit":20}` + r.meta + `}}`
}

// measure gives the processor time of one call in nanoseconds.
func measure(b *testing.B, r route, size int) float64 {
	client := &http.Client{Transport: manyConnections()}
	defer client.CloseIdleConnections()
	want, ids := []byte(strings.Repeat("x", size)), atomic.Int64{}
	call := func() error {
		resp, err := post(client, r.url, r.header, r.body(ids.Add(1), size))
		if err != nil {
			return err
		}
		return drain(resp, want)
	}
	// The first call pays for the key, the upstream's start and the catalogue.
	must(b, call())
	b.SetParallelism((atOnce + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	var lost atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				lost.Add(1)
				if r.name != "proxy" {
					b.Error(err)
					return
				}
			}
		}
	})
	if lost.Load() > 0 {
		b.ReportMetric(float64(lost.Load()), "lost")
	}
	each := float64((processorTime(b) - before).Nanoseconds()) / float64(b.N)
	b.ReportMetric(each, "cpu-ns/op")
	return each
}

func post(client *http.Client, to string, header http.Header, body string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return client.Do(req)
}

// drain reads an answer to its end and checks that it is the one wanted.
func drain(resp *http.Response, want []byte) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 || !bytes.Contains(text, want) {
		return fmt.Errorf("status %d, answer of %d bytes: %.300s", resp.StatusCode, len(text), text)
	}
	return nil
}

// manyConnections keeps a connection for each call under way. The default keeps
// two for each host and would measure the opening of connections.
func manyConnections() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 2 * atOnce, DisableCompression: true}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkKeyCheck measures a key that was proven before: no bcrypt, and a look
// at its row once a second.
func BenchmarkKeyCheck(b *testing.B) {
	r := newRig(b, "http://127.0.0.1:1")
	ctx := context.Background()
	check := func() {
		if _, err := r.keyring.Authenticate(ctx, r.key, "127.0.0.1"); err != nil {
			b.Fatal(err)
		}
	}
	check()
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check()
		}
	})
}
