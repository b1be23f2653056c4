package telegramfake_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/telegramfake"
)

const (
	second  = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	hookSet = "Conflict: terminated by setWebhook request"
	hookOn  = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)

// poll asks without waiting and returns the ids.
func poll(t *testing.T, s *telegramfake.Server, p params) []int64 {
	t.Helper()
	a := call(t, s, "getUpdates", p)
	var updates []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(a.Result, &updates); err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for _, u := range updates {
		ids = append(ids, u.ID)
	}
	return ids
}

func TestOffsetConfirms(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	ada := s.Person("Ada")
	var ids []int64
	for range 3 {
		ids = append(ids, ada.Say("x").UpdateID)
	}
	if ids[1] != ids[0]+1 || ids[2] != ids[0]+2 {
		t.Fatalf("ids %v do not rise by one", ids)
	}
	steps := []struct {
		name string
		p    params
		want []int64
	}{
		{"without offset from the head", params{}, ids},
		{"again the same", params{"offset": 0}, ids},
		{"an old offset reads from the head", params{"offset": 5}, ids},
		{"limit", params{"limit": 1}, ids[:1]},
		{"a limit out of range is 100", params{"limit": 1000}, ids},
		{"far future is not believed", params{"offset": ids[2] + 1000}, ids},
		{"the middle confirms what is below", params{"offset": ids[1]}, ids[1:]},
		{"what was confirmed is gone", params{"offset": ids[0]}, ids[1:]},
		{"negative counts from the end", params{"offset": -1}, ids[2:]},
		{"one above confirms all", params{"offset": ids[2] + 1, "timeout": 0}, []int64{}},
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, poll(t, s, step.p)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	for _, id := range ids {
		if s.Confirmed(id).IsZero() {
			t.Errorf("%d is not confirmed", id)
		}
	}
}

func TestHeldPollWakesForAnUpdate(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{AllowUnconfirmed: true})
	got := make(chan []int64)
	go func() { got <- poll(t, s, params{"timeout": 50}) }()
	s.WaitPoll()
	said := s.Person("Ada").Say("hi")
	if ids := <-got; len(ids) != 1 || ids[0] != said.UpdateID {
		t.Errorf("got %v", ids)
	}
}

func TestSecondPollEndsTheFirst(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{AllowUnconfirmed: true})
	first, next := make(chan answer), make(chan answer)
	go func() { first <- call(t, s, "getUpdates", params{"timeout": 50}) }()
	s.WaitPoll()
	go func() { next <- call(t, s, "getUpdates", params{"timeout": 50}) }()
	wantRefusal(t, <-first, http.StatusConflict, second)
	s.WaitPoll()
	s.Person("Ada").Say("to the second")
	if a := <-next; !a.OK {
		t.Errorf("the second got %+v", a)
	}
}

func TestWebhookExcludesPolling(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	held := make(chan answer)
	go func() { held <- call(t, s, "getUpdates", params{"timeout": 50}) }()
	s.WaitPoll()
	s.SetWebhook("https://example.org/hook")
	wantRefusal(t, <-held, http.StatusConflict, hookSet)
	start := time.Now()
	wantRefusal(t, call(t, s, "getUpdates", nil), http.StatusConflict, hookOn)
	if time.Since(start) < 2*time.Second {
		t.Error("the second conflict in a row was not held back")
	}
	if a := call(t, s, "getWebhookInfo", nil); string(a.Result) == "" || !a.OK {
		t.Errorf("got %+v", a)
	}
	call(t, s, "deleteWebhook", nil)
	if a := call(t, s, "getUpdates", params{"timeout": 0}); !a.OK {
		t.Errorf("got %+v", a)
	}
}

func TestAllowedUpdatesActWhenTheUpdateIsMade(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	ada := s.Person("Ada")
	before := ada.Say("kept")
	poll(t, s, params{"allowed_updates": []string{"callback_query"}, "timeout": 0})
	if said := ada.Say("not wanted"); said.UpdateID != 0 {
		t.Errorf("got update %d", said.UpdateID)
	}
	if ids := poll(t, s, params{}); len(ids) != 1 || ids[0] != before.UpdateID {
		t.Errorf("got %v", ids)
	}
	poll(t, s, params{"allowed_updates": []string{}, "offset": before.UpdateID + 1, "timeout": 0})
	edited := ada.Edit(before, "wanted again")
	if ids := poll(t, s, params{}); len(ids) != 1 || ids[0] != edited {
		t.Errorf("got %v", ids)
	}
	poll(t, s, params{"offset": edited + 1, "timeout": 0})
}

func TestUpdatesDieAfterADay(t *testing.T) {
	now := time.Now()
	s := telegramfake.New(t, telegramfake.Options{Clock: func() time.Time { return now }})
	s.Person("Ada").Say("too late")
	now = now.Add(25 * time.Hour)
	if ids := poll(t, s, params{"timeout": 0}); len(ids) != 0 {
		t.Errorf("got %v", ids)
	}
}

func TestRedeliveredAndResentUpdates(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{AllowUnconfirmed: true})
	said := s.Person("Ada").Say("x")
	poll(t, s, params{"offset": said.UpdateID + 1, "timeout": 0})
	s.Redeliver(said.UpdateID)
	again := s.Resend(said.UpdateID)
	if diff := cmp.Diff([]int64{said.UpdateID, again}, poll(t, s, params{"offset": said.UpdateID + 1})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{again}, poll(t, s, params{})); diff != "" {
		t.Error(diff)
	}
	s.SkipIDs(-5000)
	if lower := s.Person("Bob").Say("y"); lower.UpdateID >= said.UpdateID {
		t.Errorf("numbering went from %d to %d", said.UpdateID, lower.UpdateID)
	}
}

// A client that is killed frees its slot: the next one is no second poller.
func TestKilledClientLeavesNoConflict(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	killed := make(chan error)
	c := client(t)
	go func() {
		_, err := c.Get(s.URL() + "/bot" + s.Token() + "/getUpdates?timeout=50")
		killed <- err
	}()
	s.WaitPoll()
	s.CutConnections()
	if err := <-killed; err == nil {
		t.Fatal("the connection was not cut")
	}
	s.WaitNoPoll()
	if a := call(t, s, "getUpdates", params{"timeout": 0}); !a.OK {
		t.Errorf("got %+v", a)
	}
}
