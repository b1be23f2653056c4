package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 4 << 20

// call is one request of the REST API.
type call struct {
	doing        string // for errors: the path may hold the token of an interaction
	method, path string
	// route is what Discord limits together. Answers to interactions have none:
	// they are not limited (docs.discord.com/developers/topics/rate-limits).
	route string
	// urgent may use the last of a route's calls.
	urgent bool
	body   any
	files  []*discordgo.File
}

// do makes the call and reads the answer into out, unless that is nil.
func (c *Channel) do(ctx context.Context, r call, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.pace.wait(ctx, r.route, r.urgent); err != nil {
		return err
	}
	req, err := c.request(ctx, r)
	if err != nil {
		return fmt.Errorf("discord: %s: %w", r.doing, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unanswered(r.doing, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.unanswered(r.doing, err)
	}
	limit := limitOf(resp.Header, resp.StatusCode, answer, time.Now())
	c.pace.heed(r.route, limit)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return c.refused(r.doing, resp.StatusCode, answer, limit)
	}
	if out == nil {
		return nil
	}
	if json.Unmarshal(answer, out) != nil {
		return fmt.Errorf("discord: %s: the answer is not what Discord documents", r.doing)
	}
	return nil
}

func (c *Channel) request(ctx context.Context, r call) (*http.Request, error) {
	kind, body := "application/json", []byte(nil)
	var err error
	switch {
	case r.files != nil:
		kind, body, err = discordgo.MultipartBodyWithJSON(r.body, r.files)
	case r.body != nil:
		body, err = json.Marshal(r.body)
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address cannot be built")
	}
	req.Header.Set("Authorization", "Bot "+c.token)
	req.Header.Set("User-Agent", "DiscordBot (https://github.com/bwmarrin/discordgo, "+discordgo.VERSION+") Holm")
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}
