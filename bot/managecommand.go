package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/servers"
	"holm/policy"
	"holm/policy/rulestore"
)

// words of the commands that write rows, and what they write.
var effects = map[string]policy.Effect{"allow": policy.Allow, "deny": policy.Deny, "ask": policy.RequireApproval}

func effectWord(e policy.Effect) string {
	for word, effect := range effects {
		if effect == e {
			return word
		}
	}
	return string(e)
}

// policies lists the rows of an agent.
func (b *Bot) policies(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	rows, err := rulestore.List(ctx, b.Pool, agentID, "")
	if err != nil {
		return "", err
	}
	lines := []string{fmt.Sprintf("Rules of agent %s, all weighed together:", agentID)}
	for _, stored := range rows {
		lines = append(lines, ruleLine(stored.Compiled()))
	}
	if len(rows) == 0 {
		lines[0] = fmt.Sprintf("Agent %s has no rules; its default decision holds.", agentID)
	}
	return strings.Join(lines, "\n"), nil
}

func ruleLine(row policy.Row) string {
	text := effectWord(row.Effect) + " " + oneLine(row.ResourceKey, maxKey)
	if row.ResourceType != policy.TypeTool {
		text = effectWord(row.Effect) + " " + row.ResourceType + " " + oneLine(row.ResourceKey, maxKey)
	}
	var to []string
	for _, g := range row.Grants {
		to = append(to, oneLine(g.String(), maxName))
	}
	text += " to " + strings.Join(to, " ")
	if scope := string(row.Scope.Canonical()); scope != "{}" {
		text += " · " + oneLine(scope, maxName)
	}
	if row.Origin == policy.OriginApproval {
		text += " · left by an approval"
	}
	return text
}

// rule stores a row for a tool: allow, deny or ask. Its grants add to those that the
// row has already.
func (b *Bot) rule(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	words, force := cutForce(l.words)
	if len(words) == 0 || len(words) > 1 && (words[1] != "to" || len(words) == 2) {
		return "", misuse("Which tool, and to whom?")
	}
	row := policy.Row{
		AgentID: agentID, ResourceType: policy.TypeTool, Effect: effects[l.cmd.name], Grants: []policy.Grant{policy.Any()},
		Note: "by " + l.who.user.Name + " in a chat",
	}
	if row.ResourceKey, err = keyNamed(b.everyTool(ctx), words[0]); err != nil {
		return "", err
	}
	if len(words) > 2 {
		if row.Grants, err = b.grantees(ctx, agentID, words[2:]); err != nil {
			return "", err
		}
	}
	change := rulestore.Change{Row: row, AddGrants: true, KeepDefaults: true, Force: force, Tools: b.toolInfos(ctx)}
	reply, err := b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		written, err := rulestore.Set(ctx, tx, change, l.who.user.ID)
		done.reply = writtenText(written, l.cmd.name)
		return done, err
	})
	b.Approvals.Rules.Changed(agentID)
	return reply, unchanged(err)
}

// writtenText says what was stored, what it was before, and how to undo it.
func writtenText(w rulestore.Written, command string) string {
	lines := []string{fmt.Sprintf("Stored for agent %s: %s", w.AgentID, ruleLine(w.Compiled()))}
	for _, kept := range w.Kept {
		lines = append(lines, "Beside it, so that nobody loses what they had: "+ruleLine(kept.Compiled()))
	}
	for _, note := range w.Notes {
		lines = append(lines, "Note: "+oneLine(note.Message, maxText))
	}
	undo := fmt.Sprintf("To undo: forget @%s %s %s", w.AgentID, w.ResourceKey, command)
	if w.Replaced != nil {
		undo += ", then give again what it was before: " + ruleLine(w.Replaced.Compiled())
	}
	return strings.Join(append(lines, undo), "\n")
}

// cutForce takes the word force off the end.
func cutForce(words []string) (rest []string, force bool) {
	if n := len(words); n > 1 && strings.EqualFold(words[n-1], "force") {
		return words[:n-1], true
	}
	return words, false
}

// unchanged says how to force what the lock-out guard refused.
func unchanged(err error) error {
	if f, ok := fault.As(err); ok && f.Code == "would_lock_out" {
		return fault.Invalidf("Nothing was changed: %s (add the word force at the end)", f.Message)
	}
	return err
}

// forget deletes the rows of a tool, of one effect or of all.
func (b *Bot) forget(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	words, force := cutForce(l.words)
	var only policy.Effect
	if len(words) == 2 {
		only = effects[strings.ToLower(words[1])]
	}
	if len(words) == 0 || len(words) > 2 || len(words) == 2 && only == "" {
		return "", misuse("Which rule?")
	}
	key, err := keyNamed(b.everyTool(ctx), words[0])
	if err != nil {
		return "", err
	}
	guard := rulestore.Deleting(agentID, only, b.toolInfos(ctx), force)
	reply, err := b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		var removed []rulestore.Row
		err = guard.Do(ctx, tx, func() (err error) {
			removed, err = b.Approvals.DeleteRows(ctx, tx, agentID, policy.TypeTool, key, only, actor(l.ch, l.who.user))
			return err
		})
		lines := []string{fmt.Sprintf("Deleted for agent %s; to undo, send them again:", agentID)}
		for _, stored := range removed {
			lines = append(lines, ruleLine(stored.Compiled()))
		}
		done.reply = strings.Join(lines, "\n")
		return done, err
	})
	b.Approvals.Rules.Changed(agentID)
	return reply, unchanged(err)
}

// toolInfos are all tools there are, as far as they are known.
func (b *Bot) toolInfos(ctx context.Context) []policy.ToolInfo {
	if b.Tools == nil {
		return nil
	}
	return b.Tools(ctx)
}

// everyTool is toolInfos without what they take.
func (b *Bot) everyTool(ctx context.Context) (all []policy.Tool) {
	for _, t := range b.toolInfos(ctx) {
		all = append(all, t.Tool)
	}
	return all
}

// keyNamed is the policy key of a tool: as it was typed, or where that is no
// whole name and no pattern, that of the one tool that is called so.
func keyNamed(known []policy.Tool, name string) (string, error) {
	var found []string
	for _, t := range known {
		if t.Name == name {
			return name, nil
		}
		if t.Server != "" && t.Name == servers.ResourceKey(t.Server, name) {
			found = append(found, t.Name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", misusef("Several tools are called that. Say which: %s or %s.", found[0], found[1])
	case strings.Contains(name, "*") || strings.HasPrefix(name, "mcp__"):
		return name, nil // of a server that may come
	}
	return "", misusef("There is no tool “%s”. Send its whole name, or a pattern such as mcp__SERVER__*.", oneLine(name, maxName))
}

// grantees reads to whom a rule speaks.
func (b *Bot) grantees(ctx context.Context, agentID string, words []string) (grants []policy.Grant, err error) {
	for _, word := range words {
		kind, value, _ := strings.Cut(word, ":")
		switch {
		case word == "any":
			grants = append(grants, policy.Any())
		case slices.Contains([]policy.Role{policy.Owner, policy.User, policy.Guest}, policy.Role(strings.TrimPrefix(word, "role:"))):
			grants = append(grants, policy.ToRole(policy.Role(strings.TrimPrefix(word, "role:"))))
		case kind == "circle":
			grants = append(grants, policy.ToCircle(value))
		case word == "user:"+identity.AgentRequester(agentID):
			grants = append(grants, policy.ToUser(identity.AgentRequester(agentID)))
		default:
			m, err := b.memberNamed(ctx, agentID, word)
			if err != nil {
				return nil, err
			}
			grants = append(grants, policy.ToUser(m.UserID))
		}
	}
	return grants, nil
}

// memberNamed finds a person of an agent by id, identity or, where only one is
// called so, by name.
func (b *Bot) memberNamed(ctx context.Context, agentID, word string) (identity.Member, error) {
	members, err := identity.Members(ctx, b.Pool, agentID)
	if err != nil {
		return identity.Member{}, err
	}
	var named []identity.Member
	for _, m := range members {
		if m.UserID == strings.TrimPrefix(word, "user:") || slices.Contains(m.Identities, word) {
			return m, nil
		}
		if strings.EqualFold(strings.ReplaceAll(m.Name, " ", "_"), strings.TrimPrefix(word, "@")) {
			named = append(named, m)
		}
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return identity.Member{}, misusef("Agent %s has no person “%s”. Send users to see them.", agentID, oneLine(word, maxName))
	}
	return identity.Member{}, misusef("Several people are called “%s”. Say which by identity: %s or %s.", oneLine(word, maxName), strings.Join(named[0].Identities, ", "), strings.Join(named[1].Identities, ", "))
}

// explain says what would be decided about a call, and why; nothing is asked.
func (b *Bot) explain(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	name, text := firstWord(l.rest)
	if name == "" {
		return "", misuse("Which tool?")
	}
	req := policy.Request{Principal: policy.Principal{AgentID: agentID}}
	whose := "the agent's own key"
	if at := strings.LastIndex(" "+text, " as "); at >= 0 {
		whose = strings.TrimSpace(text[min(at+3, len(text)):])
		text = strings.TrimSpace((" " + text)[:at])
		if req.Principal, err = b.principalNamed(ctx, agentID, whose); err != nil {
			return "", err
		}
	}
	known := b.everyTool(ctx)
	if req.Tool, err = keyNamed(known, name); err != nil {
		return "", err
	}
	raw, err := readArgs(text, inputSchema{})
	if err != nil {
		return "", err
	}
	if req.Args, err = policy.ParseArgs(raw); err != nil {
		return "", misuse(err.Error())
	}
	for _, t := range known {
		if t.Name == req.Tool {
			req.Server = t.Server
		}
	}
	if b.Servers != nil && req.Server != "" {
		server, err := b.Servers.Get(ctx, req.Server)
		if err != nil {
			return "", err
		}
		tool, _ := server.ToolOf(req.Tool)
		req.Resources = servers.Resources(server.Name, server.MapsOf(tool), req.Args)
	}
	rules, err := b.Approvals.Rules.Get(ctx, agentID)
	if err != nil {
		return "", err
	}
	e := rules.Explain(req)
	lines := []string{fmt.Sprintf("%s for %s: %s", oneLine(req.Tool, maxKey), oneLine(whose, maxName), Visible(e.String()))}
	for _, reason := range e.Reasons {
		lines = append(lines, fmt.Sprintf("· %s %s: %s", effectWord(reason.Effect), oneLine(reason.ResourceKey, maxKey), oneLine(reason.Why, maxText)))
	}
	return strings.Join(lines, "\n"), nil
}

// principalNamed is a role or a person of the agent.
func (b *Bot) principalNamed(ctx context.Context, agentID, word string) (policy.Principal, error) {
	if role, err := identity.CheckRole(strings.TrimPrefix(word, "role:")); err == nil {
		return policy.Principal{AgentID: agentID, Role: role}, nil
	}
	m, err := b.memberNamed(ctx, agentID, word)
	if err != nil {
		return policy.Principal{}, err
	}
	return identity.PrincipalOf(ctx, b.Pool, identity.Caller{AgentID: agentID, UserID: m.UserID})
}

// users lists the people of an agent.
func (b *Bot) users(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	all, err := identity.Members(ctx, b.Pool, agentID)
	if err != nil {
		return "", err
	}
	lines := []string{fmt.Sprintf("People of agent %s:", agentID)}
	for _, m := range all {
		lines = append(lines, fmt.Sprintf("%s · %s · %s", oneLine(m.Name, maxName), m.Role, VisibleLine(strings.Join(m.Identities, ", "))))
	}
	return strings.Join(lines, "\n"), nil
}

// role changes somebody's role.
func (b *Bot) role(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	if len(l.words) != 2 {
		return "", misuse("Whose, and which role?")
	}
	m, err := b.memberNamed(ctx, agentID, l.words[0])
	if err != nil {
		return "", err
	}
	role, err := identity.CheckRole(strings.ToLower(l.words[1]))
	if err != nil {
		return "", err
	}
	return b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		endings, err := b.Approvals.SetRole(ctx, tx, agentID, m.UserID, role, false, actor(l.ch, l.who.user))
		done.reply = withEndings(fmt.Sprintf("%s is now %s of agent %s. To undo: role @%s %s %s", oneLine(m.Name, maxName), role, agentID, agentID, m.UserID, m.Role), endings)
		return done, err
	})
}

// withEndings adds to what was done what ended by it, and what stands.
func withEndings(done string, e approvals.Endings) string {
	lines := []string{done}
	for _, line := range e.Lines("revoke") {
		lines = append(lines, VisibleLine(line))
	}
	return strings.Join(lines, "\n")
}

// circle lists circles, and puts people in and out.
func (b *Bot) circle(ctx context.Context, l line) (string, error) {
	agentID, err := b.oneAgent(l)
	if err != nil {
		return "", err
	}
	if len(l.words) == 1 && l.words[0] == "list" {
		return b.circles(ctx, agentID)
	}
	if len(l.words) != 3 || l.words[0] != "add" && l.words[0] != "remove" {
		return "", misuse("Say list, add or remove.")
	}
	name := l.words[1]
	m, err := b.memberNamed(ctx, agentID, l.words[2])
	if err != nil {
		return "", err
	}
	said, undo := "is in", "remove"
	if l.words[0] == "remove" {
		said, undo = "is no longer in", "add"
	}
	return b.once(ctx, l, func(tx pgx.Tx) (done effect, err error) {
		done.reply = fmt.Sprintf("%s %s circle %s of agent %s. To undo: circle @%s %s %s %s",
			oneLine(m.Name, maxName), said, oneLine(name, maxName), agentID, agentID, undo, oneLine(name, maxName), m.UserID)
		if l.words[0] == "remove" {
			endings, err := b.Approvals.LeaveCircle(ctx, tx, agentID, name, m.UserID, actor(l.ch, l.who.user))
			done.reply = withEndings(done.reply, endings)
			return done, err
		}
		rules, err := b.Approvals.JoinCircle(ctx, tx, agentID, name, m.UserID, actor(l.ch, l.who.user))
		for _, row := range rules {
			done.reply += "\nIt holds for the circle already: " + ruleLine(row.Compiled())
		}
		return done, err
	})
}

func (b *Bot) circles(ctx context.Context, agentID string) (string, error) {
	all, err := identity.Circles(ctx, b.Pool, agentID)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, c := range all {
		var names []string
		for _, m := range c.Members {
			names = append(names, oneLine(m.Name, maxName))
		}
		lines = append(lines, oneLine(c.Name, maxName)+": "+strings.Join(names, ", "))
	}
	if len(lines) == 0 {
		return fmt.Sprintf("Agent %s has no circles.", agentID), nil
	}
	return strings.Join(lines, "\n"), nil
}
