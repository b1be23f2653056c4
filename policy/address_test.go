package policy_test

import (
	"net/url"
	"strings"
	"testing"

	"holm/policy"
)

// FuzzAddressHost holds a host against net/url: an address that an allow row lets
// through goes to the row's host, and one that goes there is in no spelling let past a
// deny row.
func FuzzAddressHost(f *testing.F) {
	for _, c := range tableCases(f) {
		f.Add(strings.Trim(c.value, `"`))
	}
	const host = "docs.example.com"
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		got := judge(t, policy.MatchGlob, "https://"+host+"/**{,?**}{,#**}", text)
		u, err := url.Parse(text)
		there := err == nil && u.Scheme == "https" && strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") == host
		if got == "yes" && err == nil && !there {
			t.Fatalf("%q is let through to %q", text, u.Host)
		}
		if got == "no" && there {
			t.Fatalf("%q goes to the host and is judged as another", text)
		}
	})
}
