package gateway

import (
	"context"
	"errors"
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
	// behalf is the row that asks because a program makes the call for a person; nil
	// for none.
	behalf *policy.Row
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
	if _, unknown := errors.AsType[*UnknownToolError](err); unknown && c.listed {
		e, snap, err = g.catalogue.concealed(ctx, p, c.name)
	}
	if err != nil {
		return nil, err
	}
	c.listed = true
	j := &judgement{entry: e, snapshot: snap, request: policy.Request{
		Principal: p, Tool: e.Key, Server: e.Server, Definition: e.made.digest, Args: args, Resources: servers.Resources(e.Server, e.maps, args),
	}}
	j.verdict = snap.set.Evaluate(j.request)
	g.seenByAnOwner(c, j)
	return j, nil
}

// reason names what decided, without arguments' values.
func (j *judgement) reason() string {
	if rule := j.verdict.Rule; rule != nil {
		return ruleName(*rule) + j.part()
	}
	e := j.snapshot.set.Explain(j.request)
	text := "no rule allows this call" + j.part()
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

// part names the command of several that decided.
func (j *judgement) part() string {
	if j.verdict.Part == "" {
		return ""
	}
	return fmt.Sprintf(" for the command %.80q", j.verdict.Part)
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

// defaultRule stands for an agent's default decision to ask.
func (j *judgement) defaultRule() *policy.Row {
	return &policy.Row{ID: approvals.DefaultRule, AgentID: j.request.Principal.AgentID, ResourceType: policy.TypeTool,
		ResourceKey: "*", Effect: policy.RequireApproval, Version: 1, Note: "the agent's default decision"}
}

// asking are all rows that want the call approved, whatever was approved before, by
// id: an agent's default decision counts as a row of its own.
func (j *judgement) asking() []*policy.Row {
	rows, byDefault := j.snapshot.set.Asks(j.request)
	if byDefault {
		rows = append(rows, j.defaultRule())
	}
	if j.behalf != nil {
		rows = append(rows, j.behalf)
	}
	slices.SortFunc(rows, func(a, b *policy.Row) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// question is the request for approval that stands for every rule that wants the
// call approved, as it would be put now: an answer to one of them must not pass for
// another's, and none for a rule, a server or a tool that was another then. ok is
// false where no rule wants it.
func (j *judgement) question(c *toolCall, requester string) (ask approvals.Call, ok bool) {
	rows := j.asking()
	if len(rows) == 0 {
		return ask, false
	}
	resourceType, key := j.resource()
	ask = approvals.Call{
		Session: c.session, RequesterName: withRole(requester, j.request.Principal.Role), ResourceType: resourceType, ResourceKey: key, Outside: c.outside,
		Args: j.request.Args, Rule: *rows[0], PolicyVersion: j.snapshot.policyVersion, Basis: approvals.Basis{Made: j.entry.made.parts},
	}
	if c.caller.OnBehalf {
		ask.ByKey = c.caller.KeyPrefix
	}
	var ids, words []string
	unjudged := map[string]string{}
	for _, reason := range j.snapshot.set.Explain(j.request).Reasons {
		unjudged[reason.RowID] = reason.Unjudged
	}
	for _, row := range rows {
		ids = append(ids, row.ID)
		if why := whyAsked(row, unjudged[row.ID]); !slices.Contains(words, why) {
			words = append(words, why)
		}
		ask.Basis.Rules = append(ask.Basis.Rules, approvals.RuleVersion{ID: row.ID, Version: row.Version})
		ask.Opens = append(ask.Opens, j.openings(row)...)
	}
	ask.Rule.Scope.Approval = policy.Strictest(rows)
	ask.Claim, ask.Spoke = claimOf(c, j.request.Args, ask.Rule.Scope.Approval), c.caller.OnBehalf || c.caller.UserID == ""
	if len(ids) > 1 {
		ask.Rule.ID = strings.Join(ids, "+")
	}
	if len(ids) > 1 || j.verdict.Unjudged != "" {
		ask.Why = strings.Join(words, "; ")
	}
	return ask, true
}

// whyAsked says in words why a row asks. One that counts only because the command
// cannot be judged is not named: it may be about something else.
func whyAsked(row *policy.Row, unjudged string) string {
	if unjudged != "" {
		return "the command cannot be judged before it runs: " + unjudged
	}
	return approvals.WhyOf(row.Note, row.Maker)
}

// openings are what a persistent approval opens in answer to one rule: the
// tool, or the very files or commands that this call reaches.
func (j *judgement) openings(rule *policy.Row) (all []approvals.Opening) {
	if rule.ResourceType == policy.TypeTool || rule.ResourceType == policy.TypeMCP {
		return []approvals.Opening{{
			ResourceType: policy.TypeTool, ResourceKey: j.entry.Key, Scope: policy.Scope{Approves: rule.ID, Definition: j.entry.made.digest},
		}}
	}
	for _, r := range j.request.Resources {
		// A shell opens files for a command; what answers for them is the command.
		opened := r.Type == policy.TypeExec && rule.ResourceType == policy.TypeFile
		if (r.Type == rule.ResourceType || opened) && r.Missing == "" {
			all = append(all, approvals.Opening{ResourceType: r.Type, ResourceKey: r.Key(), Scope: policy.Scope{
				Approves: rule.ID, Definition: j.entry.made.digest, Sandbox: r.Sandbox, Mode: r.Mode, Path: r.Path, Command: r.Command, CWD: r.CWD,
			}})
		}
	}
	return all
}
