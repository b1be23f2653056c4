package steerholm

import (
	"fmt"
	"strings"
)

// nameRule is what Holm asks of a name.
type nameRule struct {
	longest int
	extra   string // allowed behind the first letter, besides letters and digits
	lead    string // put before a name that does not begin with a letter
}

var (
	// serverRule follows internal/servers, agentRule internal/identity.
	serverRule = nameRule{longest: 40, extra: "-", lead: "s-"}
	agentRule  = nameRule{longest: 64, extra: "-_", lead: "a-"}
)

// assign gives each name one that Holm takes. A name that is valid keeps itself;
// the others get out of its way.
func (r nameRule) assign(names []string) map[string]string {
	given, taken := map[string]string{}, map[string]bool{}
	for _, name := range names {
		if r.clean(name) == name {
			given[name], taken[name] = name, true
		}
	}
	for _, name := range names {
		if given[name] != "" {
			continue
		}
		free := r.clean(name)
		for n := 2; taken[free]; n++ {
			suffix := fmt.Sprintf("-%d", n)
			base := r.clean(name)
			free = base[:min(len(base), r.longest-len(suffix))] + suffix
		}
		given[name], taken[free] = free, true
	}
	return given
}

// clean is the nearest valid name.
func (r nameRule) clean(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune(r.extra, c):
			b.WriteRune(c)
		default:
			b.WriteByte('-')
		}
	}
	clean := b.String()
	if clean == "" || !isLetter(clean[0]) {
		clean = r.lead + clean
	}
	return clean[:min(len(clean), r.longest)]
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
