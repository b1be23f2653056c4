package upstream

import (
	"sort"
	"strings"
)

// minSecret is the shortest value that is hidden: shorter ones ("1", "info")
// are no secrets and would turn ordinary text into stars.
const minSecret = 6

// redactor takes secrets out of text that came from outside and is on its way
// to a person or a log.
type redactor struct{ replacer *strings.Replacer }

func newRedactor(secrets []string) *redactor {
	sort.Slice(secrets, func(i, j int) bool { return len(secrets[i]) > len(secrets[j]) })
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			pairs = append(pairs, secret, "[hidden]")
		}
	}
	return &redactor{strings.NewReplacer(pairs...)}
}

func (r *redactor) text(s string) string { return r.replacer.Replace(s) }

// snippet is the start of a foreign body on one line, for an error message.
func (r *redactor) snippet(body []byte) string {
	const limit = 200
	line := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
	line = r.text(line)
	if len(line) > limit {
		line = strings.ToValidUTF8(line[:limit], "") + "..."
	}
	return line
}
