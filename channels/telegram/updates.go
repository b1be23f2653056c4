package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"holm/bot"
)

// pollSlack is how much later than Telegram's own time-out a poll may end.
const pollSlack = 15 * time.Second

// wanted are the kinds of updates that Decode reads, and the ones that tell a
// person blocked the bot.
var wanted = []string{"message", "callback_query", "my_chat_member"}

// rawUpdate is one update as Telegram sent it.
type rawUpdate struct {
	id  int64
	raw json.RawMessage
}

// refusal is an answer of Telegram with an error code.
type refusal struct {
	code int
	text string
}

func (e *refusal) Error() string {
	return fmt.Sprintf("telegram refused getUpdates: %d %s", e.code, e.text)
}

// getUpdates is written here and not taken from the client library, which has
// no such call: its own loop confirms updates before they are handled.
func (c *Channel) getUpdates(ctx context.Context, offset int64, hold time.Duration) ([]rawUpdate, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+pollSlack)
	defer cancel()
	body, err := json.Marshal(struct {
		Offset  int64    `json:"offset,omitempty"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{offset, int(hold / time.Second), wanted})
	if err != nil {
		return nil, fmt.Errorf("build a poll: %w", err)
	}
	status, answer, err := c.post(ctx, "getUpdates", body)
	if err != nil {
		return nil, err
	}
	return readUpdates(status, answer)
}

// post sends one JSON call. Errors hold no address, since that holds the token.
func (c *Channel) post(ctx context.Context, method string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token+"/"+method, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New(c.redact(err))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, &failure{text: "reach telegram: " + c.redact(err), kind: kindOf(err)}
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return 0, nil, &failure{text: "read telegram's answer: " + c.redact(err), kind: kindOf(err)}
	}
	return resp.StatusCode, answer, nil
}

func readUpdates(status int, answer []byte) ([]rawUpdate, error) {
	var envelope struct {
		OK          bool              `json:"ok"`
		Result      []json.RawMessage `json:"result"`
		Code        int               `json:"error_code"`
		Description string            `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(answer, &envelope); err != nil {
		return nil, fmt.Errorf("telegram answered with status %d and no JSON", status)
	}
	switch {
	case envelope.Code == http.StatusTooManyRequests:
		wait := time.Duration(max(envelope.Parameters.RetryAfter, 1)) * time.Second
		return nil, &bot.RetryError{After: wait, Err: &refusal{envelope.Code, envelope.Description}}
	case !envelope.OK:
		return nil, &refusal{envelope.Code, envelope.Description}
	}
	return withIDs(envelope.Result)
}

// withIDs reads the id of each update. One without an id cannot be confirmed,
// so the batch is refused as a whole.
func withIDs(raws []json.RawMessage) ([]rawUpdate, error) {
	updates := make([]rawUpdate, 0, len(raws))
	for _, raw := range raws {
		var head struct {
			ID *int64 `json:"update_id"`
		}
		if err := json.Unmarshal(raw, &head); err != nil || head.ID == nil {
			return nil, errors.New("telegram sent an update without an id")
		}
		updates = append(updates, rawUpdate{id: *head.ID, raw: raw})
	}
	return updates, nil
}
