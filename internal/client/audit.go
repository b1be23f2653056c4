package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holm/internal/audit"
	"holm/internal/httpapi"
)

// auditPage is how many records are asked for at once.
const auditPage = 500

// Audit calls emit for each record after a seq, in order; agent narrows when
// set.
func (c *Client) Audit(ctx context.Context, agent string, after int64, emit func(audit.Wire) error) error {
	for {
		query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(auditPage)}}
		if agent != "" {
			query.Set("agent", agent)
		}
		var page []audit.Wire
		if _, err := c.call(ctx, http.MethodGet, path("audit")+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, record := range page {
			if err := emit(record); err != nil {
				return err
			}
			after = record.Seq
		}
		if len(page) < auditPage {
			return nil
		}
	}
}

// VerifyAudit checks the whole chain, however long that takes; expect is
// SEQ:HASH or empty.
func (c *Client) VerifyAudit(ctx context.Context, expect string) (r httpapi.AuditReport, err error) {
	address := path("audit", "verify")
	if expect != "" {
		address += "?" + url.Values{"expect": {expect}}.Encode()
	}
	_, err = c.patient(0).call(ctx, http.MethodGet, address, nil, &r)
	return r, err
}

// Calls says which calls to read.
type Calls struct {
	Agent, Server, Status string
	// Last is how many of the newest to begin with, at most 1000.
	Last int
	// Follow stays for what comes.
	Follow bool
	// Interrupted is called, with the reason, when the server is lost that is
	// asked again. Nil: nobody is told.
	Interrupted func(error)
}

// followPause is the time between two looks at a log that is followed.
const followPause = time.Second

// Log calls emit for each call, the newest last. Following, it asks a server
// that it lost again and misses nothing meanwhile; it ends with nil when ctx
// does.
func (c *Client) Log(ctx context.Context, l Calls, emit func(audit.Call) error) error {
	after := int64(-1)
	for lost := false; ; {
		part, err := c.callsAfter(ctx, l, after)
		if l.Follow && ctx.Err() != nil {
			return nil
		}
		var unreachable *UnreachableError
		switch {
		case err == nil:
			lost = false
			for _, call := range part.Calls {
				if err := emit(call); err != nil {
					return err
				}
			}
			after = part.Next
		case !l.Follow || after < 0 || !errors.As(err, &unreachable):
			return err
		case !lost && l.Interrupted != nil:
			lost = true
			l.Interrupted(err)
		}
		if !l.Follow {
			return nil
		}
		if len(part.Calls) == followPart {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// followPart is how many calls one look takes.
const followPart = 1000

func (c *Client) callsAfter(ctx context.Context, l Calls, after int64) (part httpapi.CallLog, err error) {
	limit := followPart
	if after < 0 {
		limit = l.Last
	}
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limit)}}
	for name, value := range map[string]string{"agent": l.Agent, "server": l.Server, "status": l.Status} {
		if value != "" {
			query.Set(name, value)
		}
	}
	_, err = c.call(ctx, http.MethodGet, path("log")+"?"+query.Encode(), nil, &part)
	return part, err
}
