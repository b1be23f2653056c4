package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"strings"

	"holm/internal/audit"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/intake"
	"holm/policy"
)

// caller is who a credential speaks for.
type caller struct {
	// operator has the admin token.
	operator bool
	// agentID is the only agent the caller may know of; empty for the operator.
	agentID string
	// requester is the caller as somebody who asked for approvals; empty for the
	// operator and for a person whom nobody knows.
	requester string
	// key is what an access key stands for; nil for other credentials.
	key *identity.Caller
	// person is whom a channel token speaks for; zero for other credentials.
	person identity.Address
	// channel is the namespace of a channel token; empty for other credentials.
	channel string
	// name is for people. owner is set for a person who owns the agent.
	name  string
	owner bool

	// again proves the credential anew, for answers that take long.
	again func() error
}

// adminActor names the operator in rows and records.
const adminActor = audit.Operator

// personHeader names the acting person. It counts only beside the token of a
// channel, and only for that channel's namespace.
const personHeader = "X-Channel-User-Id"

type callerKey struct{}

// callerOf gives who makes the call; the front has made sure of it.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// authenticated lets nobody through to next without a credential.
func (s *server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(audit.WithTrace(r.Context(), r.Header.Get("Traceparent")))
		c, err := s.identify(r)
		if err != nil {
			intake.LeaveUnread(w, r)
			writeProblem(w, s.problem(r.Context(), "authenticate", err))
			return
		}
		visit, err := s.Intake.Enter(c.budget())
		if err != nil {
			intake.LeaveUnread(w, r)
			writeProblem(w, s.problem(r.Context(), "admit", err))
			return
		}
		defer visit.Leave()
		body, err := visit.Read(w, r, maxBody)
		if err != nil {
			writeProblem(w, unread(s.problem(r.Context(), "read", err)))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.again = s.proof(r, c)
		r.Header.Del(personHeader)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// maxBody bounds a request.
const maxBody = 1 << 20

// unread gives bodies that did not arrive the statuses that HTTP has for them.
func unread(p *Problem) *Problem {
	status := map[string]int{intake.CodeTooLarge: http.StatusRequestEntityTooLarge, intake.CodeTooSlow: http.StatusRequestTimeout}[p.Code]
	if status != 0 {
		p.Status, p.Title = status, http.StatusText(status)
	}
	return p
}

// budget is whose share of what this process holds the caller's requests take. A
// key has one, here and on the MCP endpoint.
func (c caller) budget() string {
	switch {
	case c.key != nil:
		return c.key.KeyPrefix
	case c.channel != "":
		return "channel " + c.channel
	}
	return "operator"
}

// proof tells, whenever it is called, whether the request would still be made
// by the same caller: a key may have been revoked, an owner may be none now.
func (s *server) proof(r *http.Request, before caller) func() error {
	r = r.Clone(r.Context())
	return func() error {
		now, err := s.identify(r)
		if err == nil && (now.requester != before.requester || now.owner != before.owner) {
			return fault.New(fault.Forbidden, "forbidden", "the caller's standing has changed")
		}
		return err
	}
}

// channelScheme begins every channel token.
const channelScheme = "holm_ch_"

func (s *server) identify(r *http.Request) (caller, error) {
	token, ok := bearer(r)
	if !ok {
		return caller{}, fault.New(fault.Unauthenticated, "no_credential", "send Authorization: Bearer with the admin token, an access key or a channel token")
	}
	if s.isAdminToken(token) {
		return caller{operator: true}, nil
	}
	if strings.HasPrefix(token, channelScheme) {
		return s.identifyChannel(r, token)
	}
	// Whatever else it is, the keyring counts it as an attempt from this address.
	key, err := s.Keyring.Authenticate(r.Context(), token, host(r))
	if err != nil {
		return caller{}, err
	}
	return caller{agentID: key.AgentID, requester: key.RequesterID(), key: &key}, nil
}

func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// isAdminToken compares digests, so that the time tells nothing of the token.
func (s *server) isAdminToken(token string) bool {
	given, own := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.AdminToken))
	return subtle.ConstantTimeCompare(given[:], own[:]) == 1
}

func (s *server) identifyChannel(r *http.Request, token string) (caller, error) {
	ctx := r.Context()
	agentID, namespace, err := identity.FindChannel(ctx, s.Pool, token)
	if f, ok := fault.As(err); ok && f.Kind == fault.Unauthenticated {
		s.Keyring.Refused(ctx, host(r), "channel")
	}
	if err != nil {
		return caller{}, err
	}
	people := r.Header.Values(personHeader)
	if len(people) != 1 || people[0] == "" {
		return caller{}, fault.New(fault.Forbidden, "no_person", "a channel token speaks for a person: send %s once", personHeader)
	}
	c := caller{agentID: agentID, channel: namespace, person: identity.Address{Channel: namespace, Identity: people[0]}}
	user, ok, err := identity.FindUser(ctx, s.Pool, c.person)
	if err != nil || !ok {
		return c, err
	}
	role, err := identity.RoleOf(ctx, s.Pool, agentID, user.ID)
	c.requester, c.name, c.owner = user.ID, user.Name, role == policy.Owner
	return c, err
}

// host is the network address that failed attempts are counted for.
func host(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return name
}
