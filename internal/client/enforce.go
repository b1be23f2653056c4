package client

import (
	"context"
	"net/http"
	"time"

	"holm/approvals"
	"holm/internal/httpapi"
)

// Enforcement is a call that the caller runs itself if the gate lets it.
type Enforcement struct {
	Check
	// SessionID is a session of the requester, or the conversation for whose person
	// the agent's own key asks. Optional.
	SessionID string `json:"sessionId,omitempty"`
	// Wait is how many seconds to wait for a person, at most 300.
	Wait int `json:"wait,omitempty"`
}

// Enforce puts a call to the gate. Without an error the call may be made, once,
// now; access_denied and the codes of approvals are Problems.
func (c *Client) Enforce(ctx context.Context, agent string, e Enforcement) (p httpapi.Permission, err error) {
	patience := answerPatience + time.Duration(e.Wait)*time.Second
	_, err = c.patient(patience).call(ctx, http.MethodPost, path("agents", agent, "access", "enforce"), e, &p)
	return p, err
}

// Report tells what became of a call that an approval let through.
func (c *Client) Report(ctx context.Context, agent, requestID string, outcome approvals.Outcome, message string) error {
	body := map[string]string{"outcome": string(outcome), "message": message}
	_, err := c.call(ctx, http.MethodPost, path("agents", agent, "access", "enforce", requestID, "outcome"), body, nil)
	return err
}
