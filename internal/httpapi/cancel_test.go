package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

func cancelPath(r approvals.Request) string {
	return "/api/agents/" + r.AgentID + "/approvals/" + r.ID + "/cancel"
}

func TestOperatorAndRequesterCancel(t *testing.T) {
	w := start(t)
	bare := w.agent("main")
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.User)
	bound := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+user.ID+`"}`).is(201).field("key")
	for _, c := range []struct{ token, requester, by, agent, via string }{
		{adminToken, "agent:main", "admin", "holm-cli/1", "cli"},
		{adminToken, user.ID, "admin", "curl", "api"},
		{bare, "agent:main", "agent:main", "holm-cli/1", "api"},
		{bound, user.ID, user.ID, "curl", "api"},
	} {
		r := w.ask("main", c.requester, fmt.Sprintf(`{"case":%q}`, c.by+c.via))
		var got approvals.Wire
		w.as(c.token, "POST", cancelPath(r), `{"reason":"asked by mistake"}`, "User-Agent", c.agent).is(200).into(&got)
		if got.ID != r.ID || got.Status != approvals.Cancelled || text(got.ResolvedBy) != c.by ||
			text(got.ResolvedVia) != c.via || text(got.Reason) != "asked by mistake" {
			t.Errorf("got %+v", got)
		}
		var conflict struct {
			Decision, ResolvedBy string
			ResolvedAt           time.Time
		}
		w.as(c.token, "POST", cancelPath(r), "").is(409, "already_decided").into(&conflict)
		if conflict.Decision != "cancelled" || conflict.ResolvedBy != c.by || conflict.ResolvedAt.IsZero() {
			t.Errorf("got %+v; want who, when and what", conflict)
		}
	}
}

func TestWhatIsForeignCannotBeCancelledNorTold(t *testing.T) {
	w := start(t)
	bare := w.agent("main")
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.User)
	r := w.ask("main", user.ID, `{}`)
	number := fmt.Sprintf("/api/agents/main/approvals/by-short/%d", r.ShortID)

	hidden := w.as(bare, "POST", cancelPath(r), "").is(404, "not_found")
	unknown := w.as(bare, "POST", "/api/agents/main/approvals/none/cancel", "").is(404, "not_found")
	if strings.Replace(hidden.body, r.ID, "none", 1) != unknown.body {
		t.Errorf("%s and %s differ", hidden.body, unknown.body)
	}
	// Asked for by its number, a request of somebody else does not tell its id.
	for _, c := range [][2]string{{"POST", "/cancel"}, {"GET", ""}} {
		hidden = w.as(bare, c[0], number+c[1], "").is(404, "not_found")
		unknown = w.as(bare, c[0], "/api/agents/main/approvals/by-short/99"+c[1], "").is(404, "not_found")
		if strings.Replace(hidden.body, fmt.Sprintf(`\"%d\"`, r.ShortID), `\"99\"`, 1) != unknown.body {
			t.Errorf("%s and %s differ", hidden.body, unknown.body)
		}
	}
	if got := w.admin("GET", number, "").is(200).field("status"); got != "pending" {
		t.Errorf("the request is %s", got)
	}
	w.admin("POST", number+"/cancel", `{"reason":"`+strings.Repeat("r", 1001)+`"}`).is(422, "invalid")
	w.expire(r)
	w.admin("POST", number+"/cancel", "").is(410, "expired")
}
