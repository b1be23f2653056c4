package linking_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"holm/internal/identity"
	"holm/internal/linking"
	"holm/internal/secret"
)

func TestButtonsAreReadByTheirRecipientAlone(t *testing.T) {
	keeper, err := secret.New("a secret key for tests")
	if err != nil {
		t.Fatal(err)
	}
	other, err := secret.New("quite another secret key")
	if err != nil {
		t.Fatal(err)
	}
	una := identity.Address{Channel: "chat", Identity: "una"}
	id := uuid.Must(uuid.NewV7()).String()
	for _, b := range []linking.Button{
		{Action: linking.Yes, DialogID: id}, {Action: linking.No, DialogID: id}, {Action: linking.FinalYes, DialogID: id},
		{Action: linking.Undo, Merge: 1}, {Action: linking.Undo, Merge: 1 << 62},
	} {
		token := b.Token(keeper, una)
		if len(token) > 64 || !linking.IsButton(token) {
			t.Errorf("token %q", token)
		}
		if got, ok := linking.ReadButton(keeper, una, token); !ok || got != b {
			t.Errorf("read %+v %v, want %+v", got, ok, b)
		}
		for name, try := range map[string]func() (linking.Button, bool){
			"somebody else": func() (linking.Button, bool) {
				return linking.ReadButton(keeper, identity.Address{Channel: "chat", Identity: "ulf"}, token)
			},
			"another channel": func() (linking.Button, bool) {
				return linking.ReadButton(keeper, identity.Address{Channel: "mail", Identity: "una"}, token)
			},
			"another key":        func() (linking.Button, bool) { return linking.ReadButton(other, una, token) },
			"cut":                func() (linking.Button, bool) { return linking.ReadButton(keeper, una, token[:len(token)-1]) },
			"longer":             func() (linking.Button, bool) { return linking.ReadButton(keeper, una, token+"A") },
			"a line break in it": func() (linking.Button, bool) { return linking.ReadButton(keeper, una, token[:9]+"\n"+token[9:]) },
			"no prefix":          func() (linking.Button, bool) { return linking.ReadButton(keeper, una, strings.TrimPrefix(token, "l.")) },
			"nothing":            func() (linking.Button, bool) { return linking.ReadButton(keeper, una, "l.") },
			"another button":     func() (linking.Button, bool) { return linking.ReadButton(keeper, una, swapped(token)) },
		} {
			if got, ok := try(); ok {
				t.Errorf("%s reads %+v", name, got)
			}
		}
	}
	unknown := linking.Button{Action: 9, DialogID: id}
	if _, ok := linking.ReadButton(keeper, una, unknown.Token(keeper, una)); ok {
		t.Error("an action that is none is read")
	}
}

// swapped changes a character in the middle.
func swapped(token string) string {
	at := len(token) / 2
	by := "A"
	if token[at] == 'A' {
		by = "B"
	}
	return token[:at] + by + token[at+1:]
}
