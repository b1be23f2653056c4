package client

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"holm/approvals"
	"holm/internal/httpapi"
)

var nextPage = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// pageSize is the largest page that the server gives.
const pageSize = 200

// Approvals lists at most limit requests, the newest first; status filters
// when set, and duplicates lists those too that share another one's question.
func (c *Client) Approvals(ctx context.Context, agent, status string, duplicates bool, limit int) ([]approvals.Wire, error) {
	query := url.Values{"limit": {strconv.Itoa(min(limit, pageSize))}}
	if status != "" {
		query.Set("status", status)
	}
	if duplicates {
		query.Set("duplicates", "true")
	}
	next := path("agents", agent, "approvals") + "?" + query.Encode()
	list := []approvals.Wire{}
	for next != "" && len(list) < limit {
		var page []approvals.Wire
		header, err := c.call(ctx, http.MethodGet, next, nil, &page)
		if err != nil {
			return nil, err
		}
		list, next = append(list, page...), ""
		if link := nextPage.FindStringSubmatch(header.Get("Link")); link != nil {
			next = link[1]
		}
	}
	return list[:min(limit, len(list))], nil
}

// Approval shows one request, by number or id.
func (c *Client) Approval(ctx context.Context, agent, name string) (w approvals.Wire, err error) {
	_, err = c.call(ctx, http.MethodGet, request(agent, name), nil, &w)
	return w, err
}

// Review decides a request, by number or id.
func (c *Client) Review(ctx context.Context, agent, name string, r httpapi.Review) (w approvals.Wire, err error) {
	_, err = c.call(ctx, http.MethodPost, request(agent, name)+"/review", r, &w)
	return w, err
}

// Cancel takes a request back, by number or id.
func (c *Client) Cancel(ctx context.Context, agent, name, reason string) (w approvals.Wire, err error) {
	_, err = c.call(ctx, http.MethodPost, request(agent, name)+"/cancel", httpapi.Cancellation{Reason: reason}, &w)
	return w, err
}

func request(agent, name string) string { return named(name, "agents", agent, "approvals") }

// named is the path of a request, or of what it left, under segments: numbers
// are short, ids are not.
func named(name string, segments ...string) string {
	if _, err := strconv.ParseInt(name, 10, 32); err == nil {
		segments = append(segments, "by-short")
	}
	return path(append(segments, name)...)
}

// Grants lists what an agent's approvals still let through.
func (c *Client) Grants(ctx context.Context, agent string) (list []approvals.Grant, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "grants"), nil, &list)
	return list, err
}

// RevokeGrant takes back what a request has left, by its number or id.
func (c *Client) RevokeGrant(ctx context.Context, agent, name string) (g approvals.Grant, err error) {
	_, err = c.call(ctx, http.MethodDelete, named(name, "agents", agent, "grants"), nil, &g)
	return g, err
}
