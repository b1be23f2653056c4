package upstream

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventStream(t *testing.T) {
	stream := ": comment\r\nid: 7\r\nretry: 20\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n" +
		"no colon\nevent: ping\ndata: x\n\n" + "data:\n\n\n\n" + "event: message\ndata:{}"
	in := newEvents(strings.NewReader(stream), 100)
	var got []string
	for {
		ev, err := in.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, fmt.Sprintf("%s|%s|%s|%q|%v", ev.id, ev.retry, ev.name, ev.data, ev.isMessage()))
	}
	want := []string{`7|20ms||"{\"a\":\n1}"|true`, `|0s|ping|"x"|false`, `|0s||""|false`, `|0s|message|"{}"|true`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An event above the limit, in one line or in many, leaves the next one whole.
func TestOversizeEvents(t *testing.T) {
	one := "data: " + strings.Repeat("x", 300_000) + "\n\n"
	many := strings.Repeat("data: "+strings.Repeat("y", 90)+"\n", 20) + "\n"
	in := newEvents(strings.NewReader(one+"data: 1\n\n"+many+"data: 2\n\n"), 100)
	var got []string
	for {
		ev, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var long *tooLongError
		if errors.As(err, &long) {
			got = append(got, "too long")
			continue
		}
		got = append(got, string(ev.data))
	}
	if diff := cmp.Diff([]string{"too long", "1", "too long", "2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The owner of an oversize answer is found where the id is at either end, and
// never guessed from what is inside.
func TestOwnerOfOversizeMessage(t *testing.T) {
	filler := strings.Repeat("x", 100_000)
	for message, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":41,"result":"` + filler + `"}`:            41,
		`{"result":"` + filler + `","jsonrpc":"2.0","id":42}`:            42,
		`{"jsonrpc":"2.0","result":{"x":"` + filler + `","id":43}}`:      0,
		`{"jsonrpc":"2.0","method":"x","params":"` + filler + `"}`:       0,
		`{"jsonrpc":"2.0","id":"44","result":"` + filler + `"}`:          0,
		`{"jsonrpc":"2.0","result":"` + filler + `\"id\":45}","id":"x"}`: 0,
	} {
		_, err := newLines(strings.NewReader(message+"\n"), 1000).next()
		var long *tooLongError
		if !errors.As(err, &long) {
			t.Fatalf("error %v", err)
		}
		if id, ok := long.id(); id != want || ok != (want != 0) {
			t.Errorf("%.40s...: id %d, %v", message, id, ok)
		}
	}
}

func TestRedactor(t *testing.T) {
	hide := newRedactor(Server{
		URL:     "http://u:pass-word@h/?k=query-secret",
		Headers: map[string]string{"Authorization": "Bearer tok-en-1"}, Env: map[string]string{"K": "env-secret", "DEBUG": "1"},
	}.secrets())
	got := hide.snippet([]byte("a tok-en-1 b\nBearer tok-en-1 query-secret pass-word env-secret 1" + strings.Repeat("z", 500)))
	want := "a [hidden] b [hidden] [hidden] [hidden] [hidden] 1"
	if !strings.HasPrefix(got, want) || len(got) > 210 {
		t.Errorf("got %s", got)
	}
}

func TestPaceNeverGivesUpAndNeverSpins(t *testing.T) {
	cfg := Config{}.withDefaults()
	p := newPace(cfg)
	quick := 0
	for range 50 {
		if p.afterLoss(&session{begun: time.Now()}) == 0 {
			quick++
		}
	}
	if quick != quickRestarts {
		t.Errorf("%d restarts without a pause", quick)
	}
	useful := &session{begun: time.Now()}
	useful.answered.Store(true)
	if d := p.afterLoss(useful); d != 0 {
		t.Errorf("a useful server waits %v", d)
	}
	for range 50 {
		if d := p.afterFailure(); d <= 0 || d > cfg.RetryMax*3/2 {
			t.Fatalf("pause %v", d)
		}
	}
}
