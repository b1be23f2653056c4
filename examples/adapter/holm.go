package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// holmAPI is Holm's REST interface, called with the channel's token in the name
// of a person.
type holmAPI struct {
	base, token, agent string
}

// answerTime bounds one call.
const answerTime = 20 * time.Second

// call gives the status and the body of the answer.
func (h *holmAPI) call(ctx context.Context, method, path, person string, body any) (status int, answer map[string]any, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+"/api/agents/"+h.agent+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("X-Channel-User-Id", person)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if err = json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&answer); errors.Is(err, io.EOF) {
		err = nil // an answer without a body
	}
	return resp.StatusCode, answer, err
}

// decisions are what the buttons of a card stand for, by how their labels begin.
var decisions = []struct{ label, decision, resolution, extent string }{
	{"Approve this call", "approved", "single", ""},
	{"Approve for ", "approved", "once", ""},
	{"Yes, always", "approved", "", ""},
	{"Reject", "rejected", "", ""},
}

// turns are the buttons of a card that decide nothing: Details brings messages, the
// others change the card.
var turns = map[string]bool{"Details": true, "More…": true, "Always: this tool": true, "Always: these arguments": true, "Back": true}

// number is that of the request in a card's head: the last one, behind what was
// asked for.
var number = regexp.MustCompile(`.*#([0-9]+)`)

// pressed does what a button stands for and gives what the person is told.
func (h *holmAPI) pressed(ctx context.Context, person string, c card, b button) string {
	if strings.HasPrefix(b.Token, "l.") { // a question about linked accounts
		return h.told(h.call(ctx, http.MethodPost, "/links/answer", person, map[string]string{"button": b.Token}))
	}
	if isListButton(b) || turns[b.Label] {
		return h.told(h.call(ctx, http.MethodPost, "/lists/answer", person, map[string]string{"button": b.Token}))
	}
	found := number.FindStringSubmatch(c.Head)
	if found == nil {
		return "This button belongs to no request."
	}
	request := "/approvals/by-short/" + found[1]
	for _, d := range decisions {
		if strings.HasPrefix(b.Label, d.label) {
			body := map[string]string{"decision": d.decision, "button": b.Token}
			if d.resolution != "" {
				body["resolution"] = d.resolution
			}
			if d.extent != "" {
				body["extent"] = d.extent
			}
			return h.told(h.call(ctx, http.MethodPost, request+"/review", person, body))
		}
	}
	return "This mailbox does not know that button."
}

// isListButton tells the buttons of a list of several requests.
func isListButton(b button) bool {
	for _, label := range []string{"#", "Review all", "Back to the list", "Approve these ", "Reject these "} {
		if strings.HasPrefix(b.Label, label) {
			return true
		}
	}
	return false
}

// redeem uses an invitation, or the access token of a protected agent.
func (h *holmAPI) redeem(ctx context.Context, person, token string) string {
	return h.told(h.call(ctx, http.MethodPost, "/invites/redeem", person, map[string]string{"token": token, "name": person}))
}

// told is what a person reads of an answer. Without one nothing is known: the
// same button may be pressed again, and decides once.
func (h *holmAPI) told(status int, answer map[string]any, err error) string {
	switch {
	case err != nil:
		return "Holm could not be asked. Please try again."
	case status == http.StatusOK && answer["status"] != nil:
		return fmt.Sprintf("Done: %v.", answer["status"])
	case status == http.StatusOK && answer["state"] != nil:
		return fmt.Sprintf("Done: %v.", answer["state"])
	case status == http.StatusOK && answer["text"] != nil && answer["text"] != "":
		return fmt.Sprint(answer["text"])
	case status < 300:
		return "Done."
	case answer["detail"] != nil:
		return fmt.Sprint(answer["detail"])
	}
	return fmt.Sprintf("Holm answered %d.", status)
}
