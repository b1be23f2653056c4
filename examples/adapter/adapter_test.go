package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holm/bot"
	"holm/channels/channeltest"
	"holm/channels/remote"
)

var secret = []byte("a signing secret")

// outside is the adapter behind its address, where its answers can go wrong.
type outside struct {
	t    *testing.T
	url  string
	box  atomic.Pointer[mailbox]
	next atomic.Pointer[channeltest.Fault]
}

func newOutside(t *testing.T) *outside {
	o := &outside{t: t}
	o.box.Store(newMailbox(secret, &holmAPI{}, []string{"olga", "eve"}))
	server := httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *outside) serve(w http.ResponseWriter, r *http.Request) {
	fault := o.next.Swap(nil)
	switch {
	case fault == nil:
		o.box.Load().ServeHTTP(w, r)
	case *fault == channeltest.RateLimited:
		w.Header().Set("Retry-After", strconv.Itoa(int(channeltest.Pause/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
	case *fault == channeltest.Broken:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>bad gateway</html>")
	case *fault == channeltest.Lost:
		o.box.Load().ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

func (o *outside) page(person string) string { return o.url + o.box.Load().page(person) }

var (
	tag       = regexp.MustCompile(`<[^>]*>`)
	buttonTag = regexp.MustCompile(`<button name="token" value="([^"]*)">([^<]*)</button>`)
	active    = regexp.MustCompile(`(?i)<(a|script|img|iframe|link|object|svg)\b|\b(href|src|on[a-z]+)=`)
)

// seen reads a letter on the page of its person.
func (o *outside) seen(person string, ref bot.MessageRef) (s channeltest.Seen) {
	resp, err := http.Get(o.page(person))
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	_, letter, ok := strings.Cut(string(body), `<article id="letter-`+ref.Message+`">`)
	if !ok {
		o.t.Fatalf("no letter %s in %s", ref.Message, body)
	}
	letter, _, _ = strings.Cut(letter, "</article>")
	for _, m := range buttonTag.FindAllStringSubmatch(letter, -1) {
		s.Buttons = append(s.Buttons, bot.Button{Token: html.UnescapeString(m[1]), Label: html.UnescapeString(m[2])})
	}
	for _, tag := range tag.FindAllString(letter, -1) {
		s.Active = append(s.Active, active.FindAllString(tag, -1)...)
	}
	s.Text = html.UnescapeString(tag.ReplaceAllString(buttonTag.ReplaceAllString(letter, ""), ""))
	return s
}

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) *channeltest.Harness {
		o := newOutside(t)
		return &channeltest.Harness{
			Channel: remote.Open(remote.Config{Namespace: "mailbox", URL: o.url + "/holm", Secret: secret, Lists: 20}),
			Owner:   "olga", Stranger: "eve", Nobody: "nobody",
			Seen:  func(_ *testing.T, who string, ref bot.MessageRef) channeltest.Seen { return o.seen(who, ref) },
			Break: func(f channeltest.Fault) { o.next.Store(&f) },
			Block: func(who string) {
				box := o.box.Load()
				box.mu.Lock()
				defer box.mu.Unlock()
				delete(box.letters, who)
			},
			Delete: func(_ *testing.T, ref bot.MessageRef) {
				box := o.box.Load()
				box.mu.Lock()
				defer box.mu.Unlock()
				box.letters[ref.Chat] = slices.DeleteFunc(box.letters[ref.Chat], func(l *letter) bool { return l.ID == ref.Message })
			},
			Revoke: func() { o.box.Store(newMailbox([]byte("another secret"), &holmAPI{}, []string{"olga"})) },
		}
	})
}

func TestOnlyHolmIsListenedTo(t *testing.T) {
	o := newOutside(t)
	body := `{"type":"send","to":"olga","card":{"head":"forged"}}`
	now := time.Now()
	good := remote.Sign(secret, now, []byte(body))
	for name, header := range map[string]string{
		"none":            "",
		"another secret":  remote.Sign([]byte("another"), now, []byte(body)),
		"another body":    remote.Sign(secret, now, []byte(body+" ")),
		"old":             remote.Sign(secret, now.Add(-6*time.Minute), []byte(body)),
		"of the future":   remote.Sign(secret, now.Add(6*time.Minute), []byte(body)),
		"another time":    strings.Replace(good, "t=", "t=1", 1),
		"without a sum":   strings.Split(good, ",")[0],
		"no hexadecimals": strings.Split(good, ",")[0] + ",v1=zz",
	} {
		if status := o.post("/holm", header, body); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status := o.post("/holm", good, body); status != http.StatusOK {
		t.Errorf("a good one: %d", status)
	}
}

func (o *outside) post(path, signature, body string) int {
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.url+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Holm-Signature", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestAMailboxIsForItsPersonAlone: another's address opens nothing, and a
// button that is not on one's own letter goes nowhere.
func TestAMailboxIsForItsPersonAlone(t *testing.T) {
	o := newOutside(t)
	var asked atomic.Int32
	holm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `{"status":"approved by %s"}`, r.Header.Get("X-Channel-User-Id"))
	}))
	t.Cleanup(holm.Close)
	box := newMailbox(secret, &holmAPI{base: holm.URL, token: "t", agent: "main"}, []string{"olga", "eve"})
	o.box.Store(box)
	id, _ := box.put("olga", card{Head: "Approval needed · #7", Buttons: [][]button{{{Label: "Approve this call", Token: "tok"}}}})
	press := func(page, letter, token string) string {
		resp, err := http.PostForm(page+"/press", url.Values{"letter": {letter}, "token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
	stolen := o.url + "/box/olga/" + box.key("eve")
	for name, c := range map[string][3]string{
		"another's key":  {stolen, id, "tok"},
		"another's box":  {o.page("eve"), id, "tok"},
		"another button": {o.page("olga"), id, "tik"},
		"another letter": {o.page("olga"), "77", "tok"},
		"nobody's box":   {o.url + "/box/nobody/" + box.key("nobody"), id, "tok"},
	} {
		press(c[0], c[1], c[2])
		if asked.Load() != 0 {
			t.Fatalf("%s: Holm was asked", name)
		}
	}
	if said := press(o.page("olga"), id, "tok"); !strings.Contains(said, "approved by olga") || asked.Load() != 1 {
		t.Errorf("her own button: %s", said)
	}
}
