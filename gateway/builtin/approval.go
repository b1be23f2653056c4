package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

const (
	// defaultWait is below the 60 s after which many clients give a call up.
	defaultWait = 45 * time.Second
	// maxWait bounds what a caller may ask for.
	maxWait = 300 * time.Second
)

func approvalTools(c Config) []gateway.Builtin {
	const request = `"request":{"type":["string","integer"],"description":"the request's number or id"}`
	const reason = `"reason":{"type":"string","maxLength":1000,"description":"reaches the requester"}`
	look := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	change := &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)}
	return []gateway.Builtin{{
		Name: "approval_status", Description: "How a request for approval of yours stands, and what to do next. An owner may look at any.",
		Schema: schema(`{`+request+`}`, "request"), Annotations: look, Run: c.approvalStatus,
	}, {
		Name: "approval_wait", Description: "Wait until a request for approval of yours is answered or its call has ended, and say how it stands. " +
			"It runs nothing: once the request is approved, make the call that was asked about again.",
		Schema: schema(`{`+request+`,"seconds":{"type":"integer","minimum":1,"maximum":300,"default":45,
			"description":"how long at most; stay below the time after which your client gives a call up"}}`, "request"),
		Annotations: look, Run: c.approvalWait,
	}, {
		Name: "approval_cancel", Description: "Take back a request for approval of yours that nobody has answered yet.",
		Schema: schema(`{`+request+`,`+reason+`}`, "request"), Annotations: change, Run: c.approvalCancel,
	}, {
		Name: "approval_list", Description: "List this agent's requests for approval, the newest first.",
		Schema: schema(`{"status":{"type":"string","enum":["pending","approved","rejected","expired","cancelled"]},
			"duplicates":{"type":"boolean","default":false,"description":"also requests that share another one's question; else asked of that one counts them"},
			"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}}`), Annotations: look, Run: c.approvalList,
	}, {
		Name: "approval_review", Description: "Approve or reject a request of somebody else as the owner whose key this is. What you asked for yourself, " +
			"nobody answers with this tool.",
		Schema: schema(`{`+request+`,"decision":{"type":"string","enum":["approved","rejected"]},
			"resolution":{"type":"string","enum":["single","once","persistent"],"default":"once","description":"this call, for some time, for good"},
			"extent":{"type":"string","enum":["tool","arguments"],"default":"tool","description":"of persistent: any arguments, or these alone"},
			"tryDifferently":{"type":"boolean","description":"of rejected: ask for another proposal"},`+reason+`}`, "request", "decision"),
		Annotations: change, Run: c.approvalReview,
	}}
}

// approval is a request as these tools show it.
type approval struct {
	RequestID      string              `json:"requestId"`
	ShortID        int                 `json:"shortId"`
	RequesterID    string              `json:"requesterId"`
	RequesterName  string              `json:"requesterName"`
	ResourceType   string              `json:"resourceType"`
	ResourceKey    string              `json:"resourceKey"`
	Args           json.RawMessage     `json:"args"`
	Rule           string              `json:"rule"`
	Resolutions    []policy.Resolution `json:"resolutions"`
	Status         approvals.Status    `json:"status"`
	Resolution     *policy.Resolution  `json:"resolution,omitempty"`
	ResolvedName   *string             `json:"resolvedName,omitempty"`
	Reason         *string             `json:"reason,omitempty"`
	TryDifferently bool                `json:"tryDifferently,omitempty"`
	// Executing is true while the approved call runs.
	Executing bool `json:"executing"`
	// Changed is what came between this question and an earlier one about the call.
	Changed string `json:"changed,omitempty"`
	// Stopped is why what was approved lets no call through any more, or did not.
	Stopped *string `json:"stopped,omitempty"`
	// Asked is how many asks share the question.
	Asked      int                `json:"asked"`
	Outcome    *approvals.Outcome `json:"outcome,omitempty"`
	CreatedAt  time.Time          `json:"createdAt"`
	ExpiresAt  time.Time          `json:"expiresAt"`
	ResolvedAt *time.Time         `json:"resolvedAt,omitempty"`
	// Next says what the requester can do now.
	Next string `json:"next"`
}

func shown(r approvals.Request) approval {
	return approval{
		RequestID: r.ID, ShortID: r.ShortID, RequesterID: r.RequesterID, RequesterName: r.RequesterName,
		ResourceType: r.ResourceType, ResourceKey: r.Resource(), Args: r.Shown(), Rule: r.RuleText, Resolutions: r.Settings.Resolutions,
		Status: r.Status, Resolution: r.Resolution, ResolvedName: r.ResolvedName, Reason: r.Reason, TryDifferently: r.TryDifferently,
		Executing: r.Executing(), Changed: r.Settings.Changed, Stopped: r.Stopped, Asked: r.Asked, Outcome: r.Outcome,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, ResolvedAt: r.ResolvedAt, Next: next(r),
	}
}

func next(r approvals.Request) string {
	const noWorkaround = "Do not try to reach the same effect in another way."
	switch {
	case r.Status == approvals.Pending:
		return "It waits for an owner's decision; silence is not consent. Wait with approval_wait. " + noWorkaround
	case r.TryDifferently:
		return "It is rejected and nothing was executed; the reviewer asks to try it differently. A changed call is a new question. " + noWorkaround
	case r.Superseded():
		return fmt.Sprintf("It was withdrawn and nothing was executed: %s. %s", *r.Stopped, noWorkaround)
	case r.Status != approvals.Approved:
		return fmt.Sprintf("It is %s and nothing was executed. %s", r.Status, noWorkaround)
	case r.Executing() && r.Outside():
		return "Whoever asked runs the call itself, and has not told its outcome yet."
	case r.Executing():
		return "The call is running. Make it again with the same arguments, or use approval_wait, to get its end; it does not run twice."
	case r.ClaimedAt == nil && r.Stopped != nil:
		return fmt.Sprintf("It was approved, and nothing was executed: %s. %s", *r.Stopped, noWorkaround)
	case r.ClaimedAt == nil:
		return "Make the call again with the same arguments: it runs now."
	case *r.Outcome == approvals.Unknown:
		return "The call was sent and its outcome was lost: it may have been executed. Check before asking again."
	}
	return fmt.Sprintf("The call was executed: %s.", *r.Outcome)
}

// find gives the request that a caller may know of: their own, and to an owner
// every one. Others look like those that never were.
func (c Config) find(ctx context.Context, call gateway.BuiltinCall, name json.RawMessage) (r approvals.Request, err error) {
	word, err := requestName(name)
	if err != nil {
		return r, err
	}
	unknown := fault.NotFoundf("no approval request %q", word)
	if number, notNumber := strconv.ParseInt(word, 10, 32); notNumber == nil {
		r, err = approvals.GetShort(ctx, c.Pool, call.AgentID, int(number))
	} else {
		r, err = approvals.Get(ctx, c.Pool, call.AgentID, word)
	}
	if f, ok := fault.As(err); ok && f.Kind == fault.NotFound {
		return r, unknown
	}
	if err != nil {
		return r, err
	}
	visible, err := identity.Same(ctx, c.Pool, r.RequesterID, call.RequesterID())
	if err == nil && !visible && call.UserID != "" {
		var role policy.Role
		role, err = identity.RoleOf(ctx, c.Pool, call.AgentID, call.UserID)
		visible = role == policy.Owner
	}
	if err == nil && !visible {
		return approvals.Request{}, unknown
	}
	return r, err
}

// requestName takes a number, also as text and with the # that cards write
// before it, or an id.
func requestName(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && strings.TrimPrefix(text, "#") != "" {
		return strings.TrimPrefix(text, "#"), nil
	}
	var number int32
	if json.Unmarshal(raw, &number) == nil && number > 0 {
		return strconv.Itoa(int(number)), nil
	}
	return "", fault.Invalidf("request: want the number or the id of a request")
}

func (c Config) approvalStatus(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		Request json.RawMessage `json:"request"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	r, err := c.find(ctx, call, in.Request)
	if err != nil {
		return nil, err
	}
	r, err = c.Approvals.Current(ctx, r.ID)
	return shown(r), err
}

func (c Config) approvalWait(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		Request json.RawMessage `json:"request"`
		Seconds *int            `json:"seconds"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	hold := defaultWait
	if in.Seconds != nil {
		hold = time.Duration(*in.Seconds) * time.Second
	}
	if hold < time.Second || hold > maxWait {
		return nil, fault.Invalidf("seconds: want 1 to %d", int(maxWait.Seconds()))
	}
	r, err := c.find(ctx, call, in.Request)
	if err != nil {
		return nil, err
	}
	r, err = call.Await(ctx, r, time.Now().Add(hold))
	return shown(r), err
}

func (c Config) approvalCancel(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		Request json.RawMessage `json:"request"`
		Reason  string          `json:"reason"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	r, err := c.find(ctx, call, in.Request)
	if err != nil {
		return nil, err
	}
	actor, err := c.actor(ctx, call)
	if err != nil {
		return nil, err
	}
	r, err = c.Approvals.Cancel(ctx, approvals.Cancellation{AgentID: call.AgentID, RequestID: r.ID, Reason: in.Reason, Actor: actor})
	return shown(r), err
}

// actor is the caller as somebody who decides.
func (c Config) actor(ctx context.Context, call gateway.BuiltinCall) (approvals.Actor, error) {
	a := approvals.Actor{UserID: call.RequesterID(), Name: "agent " + call.AgentID, Via: "mcp"}
	if call.UserID == "" {
		return a, nil
	}
	var err error
	a.Name, err = identity.UserName(ctx, c.Pool, call.UserID)
	return a, err
}

func (c Config) approvalList(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		Status     approvals.Status `json:"status"`
		Duplicates bool             `json:"duplicates"`
		Limit      *int             `json:"limit"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	switch in.Status {
	case "", approvals.Pending, approvals.Approved, approvals.Rejected, approvals.Expired, approvals.Cancelled:
	default:
		return nil, fault.Invalidf("status %q: want pending, approved, rejected, expired or cancelled", in.Status)
	}
	limit := *cmp.Or(in.Limit, new(50))
	if limit < 1 || limit > 200 {
		return nil, fault.Invalidf("limit: want 1 to 200")
	}
	list, err := approvals.List(ctx, c.Pool, call.AgentID, approvals.Filter{Status: in.Status, Duplicates: in.Duplicates, Limit: limit})
	all := make([]approval, len(list))
	for i, r := range list {
		all[i] = shown(r)
	}
	return map[string]any{"approvals": all}, err
}

func (c Config) approvalReview(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		Request        json.RawMessage   `json:"request"`
		Decision       string            `json:"decision"`
		Resolution     policy.Resolution `json:"resolution"`
		Extent         approvals.Extent  `json:"extent"`
		Reason         string            `json:"reason"`
		TryDifferently bool              `json:"tryDifferently"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Decision != "approved" && in.Decision != "rejected":
		return nil, fault.Invalidf("decision %q: want approved or rejected", in.Decision)
	case in.Decision == "rejected" && in.Resolution != "":
		return nil, fault.Invalidf("a rejection has no resolution")
	case in.Extent != "" && in.Resolution != policy.Persistent:
		return nil, fault.Invalidf("extent belongs to the resolution persistent")
	}
	r, err := c.find(ctx, call, in.Request)
	if err != nil {
		return nil, err
	}
	if call.OnBehalf {
		return nil, fault.New(fault.Forbidden, "on_behalf", "a program does not answer request %d on behalf of a person; they answer it in chat, in the terminal or over the API", r.ShortID)
	}
	if err := c.notOwn(ctx, call, r); err != nil {
		return nil, err
	}
	actor, err := c.actor(ctx, call)
	if err != nil {
		return nil, err
	}
	r, err = c.Approvals.Decide(ctx, approvals.Decision{
		AgentID: call.AgentID, RequestID: r.ID, Approve: in.Decision == "approved",
		Resolution: in.Resolution, Extent: in.Extent, Reason: in.Reason,
		TryDifferently: in.TryDifferently, Actor: actor,
	})
	out := shown(r)
	if err == nil && r.Status == approvals.Pending {
		out.Next = fmt.Sprintf("Your approval counts: it has %s. It waits for further people, and nothing runs before.", r.Tally())
	}
	return out, err
}

// notOwn refuses the caller's own request. An owner may confirm their own call,
// but a key does not show that it is the owner who speaks: the program that was
// told to wait has the same one.
func (c Config) notOwn(ctx context.Context, call gateway.BuiltinCall, r approvals.Request) error {
	own, err := identity.Same(ctx, c.Pool, r.RequesterID, call.RequesterID())
	if err == nil && own {
		err = fault.New(fault.Forbidden, "own_request", "request %d was asked with this person's key; answer it in chat, in the terminal or over the API", r.ShortID)
	}
	return err
}
