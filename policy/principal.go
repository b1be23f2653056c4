package policy

// Role is what a person is to an agent. Roles are labels, not a ladder: a grant
// to users does not include owners.
type Role string

// The three roles. A principal without one matches only grants to anybody and
// its own user grant.
const (
	Owner Role = "owner"
	User  Role = "user"
	Guest Role = "guest"
)

// Principal is who a call acts for. A principal without UserID is the bare agent
// key; its own user grant has the value that [Principal.Requester] returns.
type Principal struct {
	AgentID string `json:"agentId"`
	// UserID is the user after merges were followed; empty for a bare key.
	UserID string `json:"userId,omitempty"`
	// Role is empty when the user is no member of the agent.
	Role Role `json:"role,omitempty"`
	// Circles are the agent's labels on this user; they count for members only.
	Circles []string `json:"circles,omitempty"`
}

// Requester is the name a user grant uses for this principal: the user's id, or
// "agent:<AgentID>" for a bare key.
func (p Principal) Requester() string {
	if p.UserID != "" {
		return p.UserID
	}
	return agentRequester(p.AgentID)
}

func agentRequester(agentID string) string { return "agent:" + agentID }

func (r Role) bit() uint8 {
	switch r {
	case Owner:
		return 1
	case User:
		return 2
	case Guest:
		return 4
	}
	return 0
}
