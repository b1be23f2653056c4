package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holm/approvals"
	"holm/internal/identity"
	"holm/internal/servers"
	"holm/policy"
)

// judgement is a verdict on a call, with what it was given for.
type judgement struct {
	entry    *entry
	snapshot *snapshot
	// resourceType and resourceKey are what a person is asked about; empty is the
	// tool.
	resourceType, resourceKey string
	request                   policy.Request
	verdict                   policy.Result
}

// resource is what a person is asked about.
func (j *judgement) resource() (resourceType, key string) {
	if j.resourceType == "" {
		return policy.TypeTool, j.entry.Key
	}
	return j.resourceType, j.resourceKey
}

// judge decides a call as policy is now.
func (g *Gateway) judge(ctx context.Context, c *toolCall, args policy.Args) (*judgement, error) {
	p, err := identity.PrincipalOf(ctx, g.Pool, c.caller)
	if err != nil {
		return nil, fmt.Errorf("read principal: %w", err)
	}
	e, snap, err := g.catalogue.find(ctx, p, c.name)
	if err != nil {
		return nil, err
	}
	j := &judgement{entry: e, snapshot: snap, request: policy.Request{
		Principal: p, Tool: e.Key, Server: e.Server, Args: args, Resources: servers.Resources(e.Server, e.maps, args),
	}}
	j.verdict = snap.set.Evaluate(j.request)
	g.seenByAnOwner(c, j)
	return j, nil
}

// reason names what decided, without arguments' values.
func (j *judgement) reason() string {
	if rule := j.verdict.Rule; rule != nil {
		return ruleName(*rule)
	}
	e := j.snapshot.set.Explain(j.request)
	text := "no rule allows this call"
	switch {
	case e.Step == policy.StepInvalid:
		return "what the call reaches cannot be judged: " + e.Problem
	case e.Problem != "":
		return e.Problem
	case e.Step == policy.StepDefault:
		return "no rule is about it, and the agent's default is to deny"
	}
	for _, near := range e.Closest() {
		text += fmt.Sprintf("; the rule on %s: %s", near.ResourceKey, near.Why)
	}
	return text
}

func ruleName(rule policy.Row) string {
	text := fmt.Sprintf("rule %s %s on %s %s", rule.ID, rule.Effect, rule.ResourceType, rule.ResourceKey)
	if rule.Note != "" {
		text += " (" + rule.Note + ")"
	}
	return text
}

// withRole sets the role beside a name that people choose for themselves: a guest
// may be called like the owner.
func withRole(name string, role policy.Role) string {
	if role == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, role)
}

// question is the request for approval that stands for every rule that wants
// the call approved: an answer to one of them must not pass for another's.
func (j *judgement) question(c *toolCall, requester string) approvals.Call {
	resourceType, key := j.resource()
	ask := approvals.Call{
		Session: c.session, RequesterName: withRole(requester, j.request.Principal.Role), ResourceType: resourceType, ResourceKey: key, Outside: c.outside,
		Args: j.request.Args, Rule: j.askingRule(),
	}
	if c.caller.OnBehalf {
		ask.ByKey = c.caller.KeyPrefix
	}
	var ids, words []string
	for _, reason := range j.snapshot.set.Explain(j.request).Reasons {
		if reason.Effect != policy.RequireApproval {
			continue
		}
		ids = append(ids, reason.RowID)
		if why := approvals.WhyOf(reason.Note, reason.Maker); !slices.Contains(words, why) {
			words = append(words, why)
		}
		ask.Opens = append(ask.Opens, j.openings(reason)...)
	}
	if len(ids) == 0 && resourceType != policy.TypeTool {
		// The agent's default asked, which is about the tool alone.
		ask.Opens = []approvals.Opening{{ResourceType: policy.TypeTool, ResourceKey: j.entry.Key}}
	}
	if len(ids) > 1 {
		slices.Sort(ids)
		ask.Rule.ID = strings.Join(slices.Compact(ids), "+")
		ask.Why = strings.Join(words, "; ")
	}
	return ask
}

// askingRule is the row that wants the approval, with the settings of all that
// do; an agent's default decision counts as a row of its own.
func (j *judgement) askingRule() policy.Row {
	rule := policy.Row{ID: approvals.DefaultRule, AgentID: j.request.Principal.AgentID, ResourceType: policy.TypeTool,
		ResourceKey: "*", Effect: policy.RequireApproval, Version: 1, Note: "the agent's default decision"}
	if j.verdict.Rule != nil {
		rule = *j.verdict.Rule
	}
	rule.Scope.Approval = j.verdict.Settings
	return rule
}

// openings are what a persistent approval opens in answer to one rule: the
// tool, or the very files or commands that this call reaches.
func (j *judgement) openings(reason policy.Reason) (all []approvals.Opening) {
	if reason.ResourceType == policy.TypeTool || reason.ResourceType == policy.TypeMCP {
		return []approvals.Opening{{
			ResourceType: policy.TypeTool, ResourceKey: j.entry.Key, Scope: policy.Scope{Approves: reason.RowID},
		}}
	}
	for _, r := range j.request.Resources {
		if r.Type == reason.ResourceType && r.Missing == "" {
			all = append(all, approvals.Opening{ResourceType: r.Type, ResourceKey: r.Key(), Scope: policy.Scope{
				Approves: reason.RowID, Sandbox: r.Sandbox, Mode: r.Mode, Path: r.Path, Command: r.Command, CWD: r.CWD,
			}})
		}
	}
	return all
}

// differs tells whether another verdict, or a question of another rule, came of
// a later look.
func (j *judgement) differs(before *judgement) bool {
	if j.verdict.Step == policy.StepApproved {
		return false // the persistent approval of this very request
	}
	a, b := before.askingRule(), j.askingRule()
	return j.verdict.Decision != before.verdict.Decision || a.ID != b.ID || a.Version != b.Version
}
