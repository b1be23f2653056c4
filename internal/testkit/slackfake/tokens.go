package slackfake

import (
	"slices"
	"strings"
)

// authorize finds the app that token belongs to and checks its kind and scope.
func (s *Server) authorize(m method, token string) (*app, error) {
	if token == "" {
		return nil, refuse("not_authed")
	}
	a, isApp := s.owner(token)
	if a == nil {
		return nil, refuse("invalid_auth")
	}
	if isApp != m.appToken {
		return nil, refuse("not_allowed_token_type")
	}
	revoked, scopes := a.botRevoked, a.BotScopes
	if isApp {
		revoked, scopes = a.appRevoked, a.AppScopes
	}
	if revoked {
		return nil, refuse("token_revoked")
	}
	if m.scope != "" && !slices.Contains(scopes, m.scope) {
		return nil, &refusal{"missing_scope", answer{"needed": m.scope, "provided": strings.Join(scopes, ",")}}
	}
	return a, nil
}

func (s *Server) owner(token string) (a *app, isApp bool) {
	for _, a := range s.apps {
		switch token {
		case a.BotToken:
			return a, false
		case a.AppToken:
			return a, true
		}
	}
	return nil, false
}
