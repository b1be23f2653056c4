package servers

import (
	"maps"
	"slices"

	"holm/internal/redact"
)

// parts are what runs under the server's name, by the nouns that people are told
// when one was changed.
func (s Server) parts() map[string][]string {
	return map[string][]string{
		"command": slices.Clone(s.Command), "address": {s.URL},
		"environment": pairs(s.Env), "headers": pairs(s.Headers),
	}
}

// pairs are the names and values of variables or headers. A value whose name says
// that it is a secret is left out: another token lets Holm in at the same server,
// and whoever renews it every month is not asked about everything anew.
func pairs(m map[string]string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if redact.Secret(name) {
			value = ""
		}
		all = append(all, name, value)
	}
	return all
}

// note keeps in Runs what is about to be stored and is other than before.
func (s *Server) note(before map[string][]string) {
	if s.Runs == nil {
		s.Runs = map[string]int{}
	}
	for part, now := range s.parts() {
		if !slices.Equal(now, before[part]) {
			s.Runs[part] = s.Version + 1
		}
	}
}
