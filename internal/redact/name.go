package redact

import (
	"regexp"
	"strings"
)

// secretWords are parts of the names of arguments that hold secrets.
var secretWords = []string{
	"passw", "passphrase", "secret", "apikey", "api-key", "api_key", "accesskey", "access-key", "access_key",
	"privatekey", "private-key", "private_key", "credential", "authorization", "cookie", "bearer",
}

// countName matches counts of tokens, as model parameters have them.
var countName = regexp.MustCompile(`^(max|min|num|n|total|count)([-_]\w+)?[-_]?tokens?$`)

// Secret tells whether a name says that its value is a secret.
func Secret(name string) bool {
	name = strings.ToLower(name)
	return namesSecret(name) && !countName.MatchString(name)
}

func namesSecret(name string) bool {
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	if strings.HasPrefix(name, "token") || name == "pin" {
		return true
	}
	if before, ok := strings.CutSuffix(name, "token"); ok {
		last := before[len(before)-1]
		return separates(last) || last >= 'a' && last <= 'z'
	}
	for _, word := range []string{"pwd", "pass"} {
		if before, ok := strings.CutSuffix(name, word); ok {
			return before == "" || separates(before[len(before)-1])
		}
	}
	return false
}

func separates(b byte) bool { return b == '-' || b == '_' || b == '.' }
