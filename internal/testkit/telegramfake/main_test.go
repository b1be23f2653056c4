package telegramfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"holm/internal/testkit/telegramfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what the Bot API sends back.
type answer struct {
	Status      int
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

type params map[string]any

// client has a connection of its own for each test, so that none outlives it.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func call(t *testing.T, s *telegramfake.Server, method string, p params) answer {
	t.Helper()
	a, err := tryCall(t, s, method, p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tryCall(t *testing.T, s *telegramfake.Server, method string, p params) (answer, error) {
	t.Helper()
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(t).Post(s.URL()+"/bot"+s.Token()+"/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	return read(resp)
}

func read(resp *http.Response) (answer, error) {
	defer resp.Body.Close() //nolint:errcheck // a test's answer
	a := answer{Status: resp.StatusCode}
	return a, json.NewDecoder(resp.Body).Decode(&a)
}

func wantRefusal(t *testing.T, a answer, code int, description string) {
	t.Helper()
	if a.OK || a.Code != code || a.Status != code || a.Description != description {
		t.Errorf("got %d %d %q, want %d %q", a.Status, a.Code, a.Description, code, description)
	}
}

// recorder stands for a test that is expected to be failed by the fake.
type recorder struct {
	mu       sync.Mutex
	said     []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// complaints are those since the last call.
func (r *recorder) complaints() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.said, "\n")
	r.said = nil
	return all
}

// recorded starts a server whose complaints are kept, and closes it unless the
// test did.
func recorded(t *testing.T, o telegramfake.Options) (*telegramfake.Server, *recorder) {
	t.Helper()
	r := &recorder{}
	s := telegramfake.New(r, o)
	t.Cleanup(s.Close)
	return s, r
}
