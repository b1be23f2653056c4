package main

import (
	"crypto/subtle"
	"html/template"
	"net/http"
	"strings"
)

// pageTemplate escapes all that it shows: texts of others stay text.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"marked": marked}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Mailbox of {{.Person}}</title></head><body>
<h1>Mailbox of {{.Person}}</h1>
<p>{{.Told}}</p>
{{range .Letters}}{{$id := .ID}}<article id="letter-{{.ID}}">
<h2>{{.Card.Head}}</h2>
{{range .Card.Facts}}<p>{{.Label}}: <span style="white-space:pre-wrap">{{marked .Value}}</span></p>
{{end}}{{range .Card.Args}}<p>{{.Name}}: <code style="white-space:pre-wrap">{{marked .Value}}</code>{{if .Cut}} … {{.Cut}} more characters{{end}}</p>
{{end}}{{range .Card.Notes}}<p><small style="white-space:pre-wrap">{{marked .}}</small></p>
{{end}}{{if .Told}}<p><strong style="white-space:pre-wrap">{{.Told}}</strong></p>
{{end}}{{range .Card.Buttons}}<form method="post" action="{{$.Page}}/press"><input type="hidden" name="letter" value="{{$id}}">
{{range .}}<button name="token" value="{{.Token}}">{{.Label}}</button>
{{end}}</form>
{{end}}</article>
{{else}}<p>Nothing has come yet.</p>
{{end}}<form method="post" action="{{.Page}}/invitation"><label>Invitation <input name="token" autocomplete="off"></label> <button>Use it</button></form>
</body></html>
`))

// marked marks the further lines of a value, so that none passes for a line of
// the card.
func marked(text string) string { return strings.ReplaceAll(text, "\n", "\n  │ ") }

// owner is whose mailbox the address of a request opens. Only this address
// tells who acts, never a field of a form.
func (m *mailbox) owner(w http.ResponseWriter, r *http.Request) (person string, ok bool) {
	person = r.PathValue("person")
	m.mu.Lock()
	_, known := m.letters[person]
	m.mu.Unlock()
	if !known || subtle.ConstantTimeCompare([]byte(m.key(person)), []byte(r.PathValue("key"))) != 1 {
		http.NotFound(w, r)
		return "", false
	}
	return person, true
}

func (m *mailbox) show(w http.ResponseWriter, r *http.Request) {
	if person, ok := m.owner(w, r); ok {
		m.render(w, person, "")
	}
}

func (m *mailbox) render(w http.ResponseWriter, person, told string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	_ = pageTemplate.Execute(w, map[string]any{
		"Person": person, "Page": m.page(person), "Told": told, "Letters": m.read(person),
	})
}

// press brings a pressed button to Holm, if the letter has it now.
func (m *mailbox) press(w http.ResponseWriter, r *http.Request) {
	person, ok := m.owner(w, r)
	if !ok {
		return
	}
	id, token := r.PostFormValue("letter"), r.PostFormValue("token")
	for _, l := range m.read(person) {
		for _, row := range l.Card.Buttons {
			for _, b := range row {
				if l.ID == id && b.Token == token {
					told := m.holm.pressed(r.Context(), person, l.Card, b)
					m.change(person, id, func(l *letter) { l.Told = told })
					m.render(w, person, "")
					return
				}
			}
		}
	}
	m.render(w, person, "That letter has no such button any more.")
}

// invitation uses what a person was given by an owner or the operator.
func (m *mailbox) invitation(w http.ResponseWriter, r *http.Request) {
	if person, ok := m.owner(w, r); ok {
		m.render(w, person, m.holm.redeem(r.Context(), person, strings.TrimSpace(r.PostFormValue("token"))))
	}
}
