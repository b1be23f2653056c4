package policy

import "slices"

// SeesSession reports whether the principal may see a session of its own agent:
// an owner sees all, others those they took part in. participants are requesters
// (see [Principal.Requester]) after merges were followed, as for the principal.
// That the session is the agent's is the caller's to check.
func SeesSession(p Principal, participants []string) bool {
	return p.Role == Owner || slices.Contains(participants, p.Requester())
}

// SeesMemory reports whether the principal may see a memory entry of its own
// agent with these grants: without any everyone sees it, and the owner always does.
func SeesMemory(p Principal, grants []Grant) bool {
	return p.Role == Owner || len(grants) == 0 || Holds(grants, p)
}
