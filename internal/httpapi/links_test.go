package httpapi_test

import (
	"testing"

	"github.com/google/uuid"

	"holm/internal/identity"
	"holm/internal/linking"
	"holm/policy"
)

// The people of two channels link themselves with what their adapters can do.
func TestPeopleOfAdaptersLinkThemselves(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	una := w.person(identity.Address{Channel: "matrix", Identity: "@una"}, "main", policy.User)
	token := w.admin("POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"http://127.0.0.1:9/"}`).is(201).field("token")
	bound := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+una.ID+`"}`).is(201).field("key")
	as := func(who, call, body string) answer {
		return w.as(token, "POST", "/api/agents/main/links"+call, body, "X-Channel-User-Id", who)
	}
	as("@stranger", "", "").is(403, "unknown_person")
	w.as(key, "POST", "/api/agents/main/links", "").is(403, "no_person")
	w.admin("POST", "/api/agents/main/links", "").is(403, "no_person")
	w.as(bound, "POST", "/api/agents/main/links", "").is(201)
	asked := as("@una", "", "").is(201).field("token")
	as("@phone", "/confirm", `{"token":"wrong"}`).is(410, "link_invalid")
	as("@una", "/confirm", `{"token":"`+asked+`"}`).is(409, "same_person")
	as("@phone", "/confirm", `{"token":"`+asked+`","name":"Una"}`).is(200)

	var dialog string
	if err := w.pool.QueryRow(t.Context(), `SELECT id FROM link_dialogs WHERE state = 'presented'`).Scan(&dialog); err != nil {
		t.Fatal(err)
	}
	button := func(who string, a linking.Action) string {
		b := linking.Button{Action: a, DialogID: dialog}
		return `{"button":"` + b.Token(w.keeper, identity.Address{Channel: "matrix", Identity: who}) + `"}`
	}
	as("@una", "/answer", button("@phone", linking.Yes)).is(403, "other_button")
	as("@una", "/answer", `{"button":"l.forged"}`).is(403, "other_button")
	forged := linking.Button{Action: linking.Yes, DialogID: uuid.NewString()}
	as("@una", "/answer", `{"button":"`+forged.Token(w.keeper, identity.Address{Channel: "matrix", Identity: "@una"})+`"}`).is(410, "link_invalid")
	for who, state := range map[string]string{"@phone": "", "@una": ""} {
		state = as(who, "/answer", button(who, linking.Yes)).is(200).field("state")
		if state != linking.Presented && state != linking.Linked {
			t.Errorf("%s: %s", who, state)
		}
	}
	user, _, err := identity.FindUser(t.Context(), w.pool, identity.Address{Channel: "matrix", Identity: "@phone"})
	if err != nil || user.ID != una.ID {
		t.Errorf("the phone is %+v, error %v", user, err)
	}
}
