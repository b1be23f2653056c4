package telegramfake_test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/telegramfake"
)

func TestEveryEncoding(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	chat := fmtID(s.Person("Ada").Open())
	form := url.Values{"chat_id": {chat}, "text": {"hi ü"}}
	post := func(kind string, body io.Reader) (*http.Response, error) {
		return client(t).Post(s.URL()+"/bot"+s.Token()+"/SENDmessage", kind, body)
	}
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	for name := range form {
		if err := w.WriteField(name, form.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() (*http.Response, error){
		"query": func() (*http.Response, error) {
			return client(t).Get(s.URL() + "/bot" + s.Token() + "/sendMessage?" + form.Encode())
		},
		"urlencoded": func() (*http.Response, error) {
			return post("application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
		},
		"json": func() (*http.Response, error) {
			return post("application/json", strings.NewReader(`{"chat_id":`+chat+`,"text":"hi ü"}`))
		},
		"multipart": func() (*http.Response, error) {
			return post(w.FormDataContentType(), struct{ io.Reader }{&parts}) // chunked: no length is known
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := do()
			if err != nil {
				t.Fatal(err)
			}
			if a, err := read(resp); err != nil || !a.OK {
				t.Fatalf("got %+v, %v", a, err)
			}
			calls := s.Calls("sendMessage")
			want := map[string]string{"chat_id": chat, "text": "hi ü"}
			if diff := cmp.Diff(want, calls[len(calls)-1].Params); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("no body under a multipart type", func(t *testing.T) {
		resp, err := client(t).Post(s.URL()+"/bot"+s.Token()+"/getMe", w.FormDataContentType(), struct{ io.Reader }{strings.NewReader("")})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := read(resp); err != nil || !a.OK {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("broken JSON", func(t *testing.T) {
		resp, err := post("application/json", strings.NewReader(`{"chat_id":`))
		if err != nil {
			t.Fatal(err)
		}
		a, err := read(resp)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, a, 400, "Bad Request: can't parse request body as JSON object")
	})
}

func fmtID(p *telegramfake.Person) string { return strconv.FormatInt(p.ID, 10) }

func TestAddressesThatLeadNowhere(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	old := s.Token()
	fresh := s.RevokeToken()
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/":                     {404, "Not Found"},
		"/bot" + fresh:          {404, "Not Found"},
		"/botx/getMe":           {401, "Unauthorized: invalid token specified"},
		"/bot" + old + "/getMe": {401, "Unauthorized"},
		"/bot1:abcdefg/getMe":   {401, "Unauthorized"},
	} {
		resp, err := client(t).Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := read(resp)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, a, want.code, want.text)
	}
	if a := call(t, s, "getMe", nil); !a.OK {
		t.Errorf("got %+v", a)
	}
}

func TestFaults(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	ada := s.Person("Ada").Open()
	send := func(text string) (answer, error) {
		return tryCall(t, s, "sendMessage", params{"chat_id": ada.ID, "text": text})
	}
	seen := func(text string) bool {
		for _, m := range s.Transcript(ada.ID) {
			if m.Text == text {
				return true
			}
		}
		return false
	}
	t.Run("refusal, once, after one", func(t *testing.T) {
		s.Inject(telegramfake.Fault{Method: "sendMessage", After: 1, Code: 429, RetryAfter: 7, Description: "Too Many Requests: retry after 7"})
		if a, err := send("1"); err != nil || !a.OK {
			t.Errorf("got %+v, %v", a, err)
		}
		a, err := send("2")
		if err != nil || a.Status != 429 || a.Parameters.RetryAfter != 7 || seen("2") {
			t.Errorf("got %+v, %v", a, err)
		}
		if a, err := send("3"); err != nil || !a.OK {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("matching calls only", func(t *testing.T) {
		s.Inject(telegramfake.Fault{Match: func(p map[string]string) bool { return p["text"] == "bad" }, HTML: true})
		if a, err := send("good"); err != nil || !a.OK {
			t.Errorf("got %+v, %v", a, err)
		}
		if a, err := send("bad"); err == nil || a.Status != 502 {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("lost answers", func(t *testing.T) {
		s.Inject(telegramfake.Fault{Method: "sendMessage", Drop: true})
		if _, err := send("never done"); !errors.Is(err, io.EOF) || seen("never done") {
			t.Errorf("got %v", err)
		}
		s.Inject(telegramfake.Fault{Method: "sendMessage", Drop: true, PerformFirst: true})
		if _, err := send("done"); !errors.Is(err, io.EOF) || !seen("done") {
			t.Errorf("got %v", err)
		}
		s.Inject(telegramfake.Fault{Method: "sendMessage", Truncate: true, PerformFirst: true})
		if _, err := send("half"); !errors.Is(err, io.ErrUnexpectedEOF) || !seen("half") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("held answer", func(t *testing.T) {
		gate, result := make(chan struct{}), make(chan error)
		f := s.Inject(telegramfake.Fault{Method: "sendMessage", Hold: gate})
		go func() { _, err := send("slow"); result <- err }()
		f.Wait(1)
		s.WaitMessage(ada.ID, func(m telegramfake.Message) bool { return m.Text == "slow" })
		close(gate)
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
	t.Run("lifted", func(t *testing.T) {
		f := s.Inject(telegramfake.Fault{Method: "sendMessage", Times: -1, Code: 500, Description: "Internal Server Error"})
		for range 2 {
			if a, err := send("no"); err != nil || a.Code != 500 {
				t.Errorf("got %+v, %v", a, err)
			}
		}
		f.Lift()
		if a, err := send("yes"); err != nil || !a.OK {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestCommandMenu(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	call(t, s, "setMyCommands", params{"commands": []any{params{"command": "help", "description": "what I can do"}}})
	want := []telegramfake.BotCommand{{Command: "help", Description: "what I can do"}}
	if diff := cmp.Diff(want, s.Commands("default")); diff != "" {
		t.Error(diff)
	}
}
