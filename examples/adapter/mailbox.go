package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
)

// card is what Holm wants shown. All of its strings are plain text.
type card struct {
	Head  string `json:"head"`
	Facts []struct {
		Label string `json:"label"`
		Value string `json:"value"`
	} `json:"facts"`
	Args []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		// Cut is how many characters Holm left out of the value.
		Cut int `json:"cut"`
	} `json:"args"`
	Notes   []string   `json:"notes"`
	Buttons [][]button `json:"buttons"`
}

type button struct {
	Label string `json:"label"`
	Token string `json:"token"`
}

// letter is a card in somebody's mailbox, and what they were told about it.
type letter struct {
	ID   string
	Card card
	Told string
}

// mailbox keeps everybody's letters, in memory: after a new start the old ones
// are gone, and Holm is told so when it wants to edit one.
type mailbox struct {
	secret []byte
	holm   *holmAPI
	mux    *http.ServeMux

	mu      sync.Mutex
	letters map[string][]*letter // by person, the newest first
	next    int
}

func newMailbox(secret []byte, holm *holmAPI, people []string) *mailbox {
	m := &mailbox{secret: secret, holm: holm, mux: http.NewServeMux(), letters: map[string][]*letter{}}
	for _, person := range people {
		m.letters[person] = nil
	}
	m.mux.HandleFunc("POST /holm", m.receive)
	m.mux.HandleFunc("GET /box/{person}/{key}", m.show)
	m.mux.HandleFunc("POST /box/{person}/{key}/press", m.press)
	m.mux.HandleFunc("POST /box/{person}/{key}/invitation", m.invitation)
	return m
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

func (m *mailbox) people() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.letters))
}

// page is the path of somebody's mailbox. Its last part proves who they are:
// whoever knows it is that person, so it is for them alone.
func (m *mailbox) page(person string) string {
	return "/box/" + url.PathEscape(person) + "/" + m.key(person)
}

func (m *mailbox) key(person string) string {
	mac := hmac.New(sha256.New, m.secret)
	mac.Write([]byte("mailbox of " + person))
	return hex.EncodeToString(mac.Sum(nil))
}

// put adds a letter and gives its name; ok is false for people without a mailbox.
func (m *mailbox) put(person string, c card) (id string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.letters[person]; !ok {
		return "", false
	}
	m.next++
	id = strconv.Itoa(m.next)
	m.letters[person] = slices.Insert(m.letters[person], 0, &letter{ID: id, Card: c})
	return id, true
}

// change replaces a card; ok is false for a letter that is not there.
func (m *mailbox) change(person, id string, change func(*letter)) (ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.letters[person] {
		if l.ID == id {
			change(l)
			return true
		}
	}
	return false
}

// read copies somebody's letters.
func (m *mailbox) read(person string) []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []letter
	for _, l := range m.letters[person] {
		all = append(all, *l)
	}
	return all
}
