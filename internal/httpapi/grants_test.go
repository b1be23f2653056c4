package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"holm/approvals"
)

func TestOwnersSeeAndRevokeGrants(t *testing.T) {
	e := startExternal(t)
	e.admin("POST", reviewPath(e.request), `{"decision":"approved"}`).is(200)
	e.admin("POST", reviewPath(e.other), `{"decision":"approved","resolution":"persistent"}`).is(200)
	const path = "/api/agents/main/grants"
	for _, person := range []string{"@guest", "@nobody"} {
		e.as(e.token, "GET", path, "", "X-Channel-User-Id", person).is(403)
		e.as(e.token, "DELETE", path+"/"+e.request.ID, "", "X-Channel-User-Id", person).is(403)
		e.as(e.token, "DELETE", fmt.Sprintf("%s/by-short/%d", path, e.request.ShortID), "", "X-Channel-User-Id", person).is(403)
	}
	var list []approvals.Grant
	e.as(e.token, "GET", path, "", "X-Channel-User-Id", "@owner").is(200).into(&list)
	if len(list) != 2 || list[0].ID != e.other.ID || list[1].ID != e.request.ID || list[1].ValidUntil == nil {
		t.Fatalf("got %+v", list)
	}

	var revoked approvals.Grant
	e.as(e.token, "DELETE", fmt.Sprintf("%s/by-short/%d", path, e.request.ShortID), "", "X-Channel-User-Id", "@owner").is(200).into(&revoked)
	if revoked.ID != e.request.ID {
		t.Errorf("revoked %+v", revoked)
	}
	var twice struct{ RevokedBy, RevokedAt, Detail string }
	e.admin("DELETE", path+"/"+e.request.ID, "").is(409, "already_revoked").into(&twice)
	if twice.RevokedBy == "" || twice.RevokedAt == "" {
		t.Errorf("got %+v", twice)
	}
	e.admin("DELETE", path+"/"+e.other.ID, "").is(200)
	if got := e.admin("GET", path, "").is(200).body; got != "[]" && got != "[]\n" {
		t.Errorf("still there: %s", got)
	}
	e.admin("DELETE", path+"/none", "").is(404, "not_found")
	e.admin("DELETE", path+"/by-short/99", "").is(404, "not_found")
	e.admin("GET", "/api/agents/nobody/grants", "").is(404, "not_found")
}

func TestADeletedRowEndsItsApproval(t *testing.T) {
	e := startExternal(t)
	e.admin("POST", reviewPath(e.request), `{"decision":"approved","resolution":"persistent"}`).is(200)
	e.admin("DELETE", "/api/agents/main/policies/"+e.request.ResourceType+"/"+e.request.ResourceKey, "").is(204)
	if got := strings.TrimSpace(e.admin("GET", "/api/agents/main/grants", "").is(200).body); got != "[]" {
		t.Errorf("still there: %s", got)
	}
	if _, ok, err := e.approvals.Claim(t.Context(), e.request, e.again(e.request)); err != nil || ok {
		t.Errorf("the waiting call was let through (%v)", err)
	}
}
