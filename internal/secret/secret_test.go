package secret_test

import (
	"bytes"
	"strings"
	"testing"

	"holm/internal/secret"
)

func keeper(t testing.TB, master string) *secret.Keeper {
	t.Helper()
	k, err := secret.New(master)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const master = "0123456789abcdef"

func TestAShortKeyIsRefused(t *testing.T) {
	for length, ok := range map[int]bool{0: false, 15: false, 16: true, 1000: true} {
		if _, err := secret.New(strings.Repeat("x", length)); (err == nil) != ok {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}

func TestWhatIsSealedOpensForItsOwnerAlone(t *testing.T) {
	k := keeper(t, master)
	for _, plain := range [][]byte{nil, {0}, []byte("value"), bytes.Repeat([]byte("v"), 1<<20)} {
		box := k.Seal("servers/git", plain)
		got, err := keeper(t, master).Open("servers/git", box)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%d bytes: got %d, error %v", len(plain), len(got), err)
		}
		if bytes.Equal(box, k.Seal("servers/git", plain)) {
			t.Error("the same value is sealed the same twice")
		}
		if len(plain) > 1 && bytes.Contains(box, plain) {
			t.Error("the value can be read in its box")
		}
		if _, err := k.Open("servers/web", box); err == nil {
			t.Error("it opens for another owner")
		}
		if _, err := keeper(t, master+"x").Open("servers/git", box); err == nil {
			t.Error("it opens with another key")
		}
	}
}

func TestADamagedBoxDoesNotOpen(t *testing.T) {
	k := keeper(t, master)
	box := k.Seal("a", []byte("value"))
	for i := range box {
		damaged := bytes.Clone(box)
		damaged[i] ^= 1
		if _, err := k.Open("a", damaged); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
		if _, err := k.Open("a", box[:i]); err == nil {
			t.Errorf("it opens cut to %d bytes", i)
		}
	}
	if _, err := k.Open("a", append(box, 0)); err == nil {
		t.Error("it opens with a byte more")
	}
}

func TestNoTwoListsSignAlike(t *testing.T) {
	k := keeper(t, master)
	seen := map[string][]string{}
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"a", "b"}, {"b", "a"}, {"ab"}, {"1:a"}, {"a1:b"}, {"a", "b", ""}, {"0:"}, {"\x00"},
	} {
		mac := string(k.MAC(parts...))
		if other, ok := seen[mac]; ok || len(mac) != 32 {
			t.Errorf("%q signs like %q, with %d bytes", parts, other, len(mac))
		}
		seen[mac] = parts
		if mac != string(keeper(t, master).MAC(parts...)) {
			t.Errorf("%q signs differently with the same key", parts)
		}
		if mac == string(keeper(t, "another master key").MAC(parts...)) {
			t.Errorf("%q signs alike with another key", parts)
		}
	}
}

func TestTokensAreRandomAndHashed(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		token := secret.Token()
		if len(token) != 32 || seen[token] || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("token %q", token)
		}
		seen[token] = true
	}
	if a, b := secret.Hash("a"), secret.Hash("b"); bytes.Equal(a, b) || !bytes.Equal(a, secret.Hash("a")) || len(a) != 32 {
		t.Errorf("hashes %x and %x", a, b)
	}
}
