package httpapi_test

import (
	"fmt"
	"testing"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

func TestCircles(t *testing.T) {
	w := start(t)
	w.agent("main")
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.Guest)
	member := "/api/agents/main/circles/ops/members/" + user.ID
	w.admin("PUT", member, "").is(200)
	w.admin("PUT", member, "").is(200)
	var circles []identity.Circle
	w.admin("GET", "/api/agents/main/circles", "").is(200).into(&circles)
	if len(circles) != 1 || circles[0].Name != "ops" || len(circles[0].Members) != 1 || circles[0].Members[0].Role != policy.Guest {
		t.Errorf("got %+v", circles)
	}
	p, err := identity.PrincipalOf(t.Context(), w.pool, identity.Caller{AgentID: "main", UserID: user.ID})
	if err != nil || len(p.Circles) != 1 || p.Circles[0] != "ops" {
		t.Errorf("the principal is %+v (%v), want it in ops", p, err)
	}

	w.admin("PUT", "/api/agents/main/circles/two%20words/members/"+user.ID, "").is(422, "invalid")
	w.admin("PUT", "/api/agents/main/circles/ops/members/nobody", "").is(404, "not_found")
	w.admin("PUT", "/api/agents/nobody/circles/ops/members/"+user.ID, "").is(404, "not_found")
	w.admin("DELETE", "/api/agents/main/circles/other", "").is(404, "not_found")

	w.admin("DELETE", member, "").is(200)
	w.admin("DELETE", member, "").is(404, "not_found")
	w.admin("PUT", member, "").is(200)
	w.admin("DELETE", "/api/agents/main/circles/ops", "").is(200)
	w.admin("GET", "/api/agents/main/circles", "").is(200).into(&circles)
	if len(circles) != 0 {
		t.Errorf("got %+v, want none", circles)
	}
}

// Who becomes a reviewer is shown what waits.
func TestNewReviewersAreShownWhatWaits(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.rule("agent:main", `{"approvers":[{"type":"role","value":"owner"},{"type":"circle","value":"ops"}]}`)
	for want, change := range []func(userID string){
		func(userID string) { w.admin("PATCH", "/api/agents/main/members/"+userID, `{"role":"owner"}`).is(200) },
		func(userID string) { w.admin("PUT", "/api/agents/main/circles/ops/members/"+userID, "").is(200) },
	} {
		user := w.person(identity.Address{Channel: "matrix", Identity: fmt.Sprint("@", want)}, "main", policy.Guest)
		change(user.ID)
		var seen approvals.Wire
		w.admin("GET", "/api/agents/main/approvals/"+r.ID, "").is(200).into(&seen)
		if got := len(seen.Deliveries); got != want+1 {
			t.Errorf("deliveries %+v, want %d", seen.Deliveries, want+1)
		}
	}
}
