package redact_test

import (
	"regexp"
	"strings"
	"testing"

	"holm/internal/redact"
)

// The same rules as expressions, as slow as those are: what stands for them must
// hide the same.
var (
	privateKey     = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	urlCredentials = regexp.MustCompile(`(://)[^/\s:@]*:[^/\s]+@`)
	urlParameter   = regexp.MustCompile(`(?i)([?&](?:[\w.-]*(?:token|secret|passw(?:or)?d|api[-_]?key|access[-_]?key|signature)|sig)=)[^&#\s"']+`)
	authHeader     = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[\w.~+/-]{8,}=*`)
	secretShape    = regexp.MustCompile(`\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}` +
		`|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}` +
		`|\bxox[a-z]-[\w-]{8,}|\bxapp-[\w-]{8,}` +
		`|\bA(KI|SI)A[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}` +
		`|\b(hf|npm)_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}` +
		`|\b(holm|steer)_(sk|ch)_[\w-]{8,}` +
		`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*` +
		`|\b\d{6,}:AA[\w-]{30,}`)
	secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|cookie|bearer` +
		`|(^|[-_.]|[a-z])token$|^token|(^|[-_.])(pwd|pass)$|^pin$`)
	countName = regexp.MustCompile(`(?i)^(max|min|num|n|total|count)([-_]\w+)?[-_]?tokens?$`)
)

func slowText(s string) string {
	s = privateKey.ReplaceAllString(s, redact.Mask)
	s = urlCredentials.ReplaceAllString(s, "${1}"+redact.Mask+"@")
	s = urlParameter.ReplaceAllString(s, "${1}"+redact.Mask)
	s = authHeader.ReplaceAllString(s, "${1}"+redact.Mask)
	return secretShape.ReplaceAllString(s, redact.Mask)
}

// FuzzText compares texts, and as names. Letters beyond ASCII that fold to one of
// it are left out: no service writes its tokens with them.
func FuzzText(f *testing.F) {
	for _, token := range tokens {
		f.Add("x " + token + " y")
		f.Add(token[:len(token)-1] + token)
	}
	for _, name := range []string{"max_tokens", "authtoken", "db-pwd", "Api_Key", "x1token", "pin", "token=a&sig=b", "?a.token=b=c&sig=", "://a:b:c@d@e/f://:x@"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "ſK") {
			return
		}
		if got, want := redact.Text(s), slowText(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
		if got, want := redact.Secret(s), secretName.MatchString(s) && !countName.MatchString(s); got != want {
			t.Errorf("the name %q is a secret: %v, want %v", s, got, want)
		}
	})
}
