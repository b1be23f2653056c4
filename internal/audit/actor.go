package audit

import "strings"

// Anonymous is the actor of an attempt with a credential that proves nothing;
// Operator has the admin token; System is Holm itself: a deadline, a start.
const (
	Anonymous = "anonymous"
	Operator  = "admin"
	System    = "system"
)

// Actor is the one form in which records name who did something: "user:<id>",
// "agent:<id>" for the key of an agent that is bound to no user, or one of the
// words above. It takes the ids of users and requesters, and its own results.
func Actor(id string) string {
	switch {
	case id == "", id == Anonymous, id == Operator, id == System, strings.Contains(id, ":"):
		return id
	}
	return "user:" + id
}
