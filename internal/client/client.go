// Package client speaks Holm's REST interface, for the command line. The forms
// of what is sent and answered are those of httpapi and of the packages it
// shows; finding a server and its credential belongs to settings.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holm/internal/httpapi"
)

// Client speaks to one server as one caller. Its methods may be called
// concurrently.
type Client struct {
	base  string
	token string
	agent string
	http  *http.Client
}

// answerPatience bounds how long a server may take to begin its answer.
const answerPatience = 30 * time.Second

// New makes a Client of the server at base, such as http://127.0.0.1:4767.
// version is that of the program that calls.
func New(base, token, version string) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerPatience
	return &Client{
		base: strings.TrimRight(base, "/"), token: token, agent: httpapi.CommandLine + version,
		http: &http.Client{Transport: transport, CheckRedirect: noRedirect},
	}
}

// Address is where the server is.
func (c *Client) Address() string { return c.base }

// patient gives a client of the same server whose answers may take as long to
// begin; 0 is for ever.
func (c *Client) patient(patience time.Duration) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = patience
	transport.DisableKeepAlives = true
	patient := *c
	patient.http = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	return &patient
}

// noRedirect keeps the token from wherever a server might point to.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close gives up connections that are kept for further calls.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Base is the address of the server.
func (c *Client) Base() string { return c.base }

// Problem is a refusal or failure that the server told of.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// Error is one line.
func (p *Problem) Error() string {
	text := p.Detail
	for _, e := range p.Errors {
		text += fmt.Sprintf("; %s %s", strings.TrimPrefix(e.Location, "body."), e.Message)
	}
	return text
}

// UnreachableError: no server answered, or what answered is none of ours.
type UnreachableError struct {
	Base string
	Err  error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Holm answers at %s: %v", e.Base, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// path makes an address of segments, each encoded.
func path(segments ...string) string {
	var b strings.Builder
	b.WriteString("/api")
	for _, s := range segments {
		b.WriteString("/" + segment(s))
	}
	return b.String()
}

// segment encodes one segment of a path; dots alone would be steps in it.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// call sends in, unless nil, and reads the answer into out, unless nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) (http.Header, error) {
	resp, err := c.send(ctx, method, path, in, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if out == nil {
		return resp.Header, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return nil, &UnreachableError{Base: c.base, Err: fmt.Errorf("read its answer: %w", err)}
	}
	return resp.Header, nil
}

// send gives an answer that is no failure; the caller closes its body.
func (c *Client) send(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("User-Agent", c.agent)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.failure(resp)
}

// unreachable drops method and address, which the error has already.
func (c *Client) unreachable(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &UnreachableError{Base: c.base, Err: err}
}

// maxProblem bounds how much of a failure is read.
const maxProblem = 64 << 10

func (c *Client) failure(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	p := &Problem{}
	if err == nil && json.Unmarshal(text, p) == nil && p.Code != "" && p.Detail != "" {
		return p
	}
	return &UnreachableError{Base: c.base, Err: fmt.Errorf("it answered %s", resp.Status)}
}
