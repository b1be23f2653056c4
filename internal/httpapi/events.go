package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holm/approvals"
	"holm/internal/caught"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
)

func (s *server) registerEvents() {
	const description = "Server-sent events. After a break the reader names the last id it has, in Last-Event-ID or after, and misses nothing. " +
		"A comment comes when nothing else did for a while; a reader that does not keep up is cut off."
	stream := map[string]*huma.Response{"200": {
		Description: "Events: id, event (the type) and data, a JSON object {id, sessionId, type, payload, createdAt}.",
		Content:     map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	handle(s, huma.Operation{
		OperationID: "follow-session", Method: http.MethodGet, Path: "/api/agents/{agentId}/sessions/{sessionId}/events",
		Summary: "Follow a session's events", Description: description, Tags: []string{"sessions"}, Responses: stream,
	}, s.followSession)
	handle(s, huma.Operation{
		OperationID: "follow-agent", Method: http.MethodGet, Path: "/api/agents/{agentId}/events",
		Summary: "Follow the events of all sessions", Description: description + " An agent's key follows its own sessions and the conversations of people, which it answers. For owners the stream also tells of open questions, with " +
			"approval_pending: of all when it begins, then of each as it comes. These events have no id and are not kept: a reader that comes back is told anew.", Tags: []string{"sessions"}, Responses: stream,
	}, s.followAgent)
}

const eventStream = "text/event-stream"

// Position is where a reader begins and whether it stays.
type Position struct {
	LastEventID string `header:"Last-Event-ID" doc:"Sent by browsers after a break; it wins over after."`
	After       int64  `query:"after" minimum:"0" doc:"The id of the last event that the reader has. Absent: from the first."`
	Live        bool   `query:"live" doc:"Without an id: begin with the last seconds instead of the first event; the first block says after which id."`
	Follow      bool   `query:"follow" default:"true" doc:"false: end when there is nothing more."`
}

// last gives the id of the last event that the reader has.
func (p Position) last() (int64, error) {
	if p.LastEventID == "" {
		return p.After, nil
	}
	id, err := strconv.ParseInt(p.LastEventID, 10, 64)
	if err != nil || id < 0 {
		return 0, fault.Invalidf("Last-Event-ID: want the id of an event")
	}
	return id, nil
}

type followSessionInput struct {
	SessionPath
	Position
}

func (s *server) followSession(ctx context.Context, in *followSessionInput) (*huma.StreamResponse, error) {
	if _, err := s.session(ctx, in.AgentID, in.SessionID); err != nil {
		return nil, err
	}
	return s.events(ctx, in.AgentID, in.SessionID, in.Position, nil, nil)
}

type followAgentInput struct {
	AgentPath
	Position
}

func (s *server) followAgent(ctx context.Context, in *followAgentInput) (*huma.StreamResponse, error) {
	see, err := s.sees(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	if see.answers {
		return s.events(ctx, in.AgentID, "", in.Position, nil, s.seenSessions(in.AgentID, see))
	}
	if see.requester != "" {
		return nil, fault.New(fault.Forbidden, "forbidden", "only an owner may follow all sessions; follow one of your own")
	}
	pending := &approvals.PendingWatch{Queryer: s.Pool, AgentID: in.AgentID}
	return s.events(ctx, in.AgentID, "", in.Position, pending.Next, nil)
}

// seenSessions tells which sessions a sight covers, and looks at each once.
func (s *server) seenSessions(agentID string, see sight) func(context.Context, string) (bool, error) {
	known := map[string]bool{}
	return func(ctx context.Context, id string) (bool, error) {
		if seen, ok := known[id]; ok {
			return seen, nil
		}
		found, err := session.Get(ctx, s.Pool, agentID, id)
		if err != nil {
			return false, err
		}
		known[id] = see.coversSession(found)
		return known[id], nil
	}
}

// attached notes a program of the agent for as long as it follows events.
func (s *server) attached(ctx context.Context, agentID string) func() error {
	if callerOf(ctx).requester != identity.AgentRequester(agentID) {
		return func() error { return nil }
	}
	var noted time.Time
	return func() error {
		if time.Since(noted) < session.AttachEvery {
			return nil
		}
		noted = time.Now()
		return session.Attach(ctx, s.Pool, agentID)
	}
}

func (s *server) events(ctx context.Context, agentID, sessionID string, p Position, beside func(context.Context) ([]session.Event, error), seen func(context.Context, string) (bool, error)) (*huma.StreamResponse, error) {
	last, err := p.last()
	if err != nil {
		return nil, err
	}
	live := p.Live && last == 0
	if live {
		if last, err = session.Recent(ctx, s.Pool, agentID); err != nil {
			return nil, err
		}
	}
	return &huma.StreamResponse{Body: func(stream huma.Context) {
		r, w := humago.Unwrap(stream)
		out := s.newEventWriter(w, callerOf(r.Context()))
		events := &session.Stream{
			Pool: s.Pool, Hub: s.Hub, AgentID: agentID, SessionID: sessionID, After: last,
			Once: !p.Follow, Beside: beside, IdleEvery: s.Heartbeat,
		}
		attached := s.attached(r.Context(), agentID)
		events.Idle = func() error { return errors.Join(attached(), out.heartbeat()) }
		emit := func(event session.Event) error {
			if err := attached(); err != nil {
				return err
			}
			if seen != nil {
				if ok, err := seen(r.Context(), event.SessionID); err != nil || !ok {
					return err
				}
			}
			return out.event(event)
		}
		// Whatever ends the stream, the reader comes back with the last id it has.
		begin := out.begin
		if live {
			begin = func() error { return out.beginAfter(last) }
		}
		if errors.Join(attached(), begin()) == nil {
			_ = s.whileServing(r.Context(), func(ctx context.Context) error { return events.Run(ctx, emit) })
		}
	}}, nil
}

// whileServing runs do, whose context ends when the process is about to stop.
func (s *server) whileServing(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	caught.Go(&watch, s.Log, "event stream", func() {
		select {
		case <-s.Ending:
			cancel()
		case <-ctx.Done():
		}
	})
	err := do(ctx)
	cancel()
	watch.Wait()
	return err
}
