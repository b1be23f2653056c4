package bot

import (
	"strings"

	"holm/internal/spelling"
)

// table is all that people may type, in the order of the help. Invitations
// (start TOKEN, link TOKEN) are taken before it, from strangers too.
func table() []*command {
	return []*command{
		{name: "start", who: members, usage: "", help: "who you are here, and this help", do: (*Bot).start},
		{name: "help", who: members, usage: "[COMMAND]", help: "what you can do; of one command: how", do: (*Bot).help},
		{name: "whoami", who: members, usage: "", help: "who you are here", do: (*Bot).whoami},
		{name: "link", who: members, usage: "[TOKEN]", help: "link another account of yours to this one; with a token: say that this is the other account, or accept an invitation", do: (*Bot).link},
		{name: "unlink", who: members, usage: "[N]", help: "undo what was linked within a day", do: (*Bot).unlink},
		{name: "undo", who: members, usage: "N", help: "the same", do: (*Bot).unlink},
		{name: "say", who: members, usage: "[@AGENT] TEXT", help: "write to the agent; any text that is no command does the same", do: (*Bot).toAgent, public: true},
		{name: "new", who: members, usage: "[@AGENT]", help: "begin a fresh conversation with the agent", do: (*Bot).fresh},
		{name: "tools", who: members, usage: "[@AGENT] [TOOL]", help: "the tools you may call now, and where approval is needed; of one tool: its arguments", do: (*Bot).tools},
		{name: "run", who: members, usage: "[@AGENT] TOOL NAME=VALUE … or {JSON}", help: "call a tool as yourself; quotes keep spaces together", do: (*Bot).run},
		{name: "requests", who: members, usage: "[@AGENT]", help: "your newest requests and how they stand", do: (*Bot).requests},
		{name: "status", who: members, usage: "N", help: "how request N of yours stands", do: (*Bot).status},
		{name: "cancel", who: members, usage: "N [REASON]", help: "take request N back, if nobody has answered it", do: (*Bot).cancel},

		{name: "pending", who: reviewers, usage: "[@AGENT]", help: "what waits for a decision", do: (*Bot).pending},
		{name: "approve", who: reviewers, usage: "N [single|hour|always|always these] [REASON]", help: "allow one call (single, the default), the same call for a time (hour), this tool for good (always), or with these arguments (always these)", do: (*Bot).approve},
		{name: "reject", who: reviewers, usage: "N [differently] [REASON]", help: "refuse, or ask to try it differently; the reason is passed on", do: (*Bot).reject},
		{name: "grants", who: owners, usage: "[@AGENT]", help: "what approvals still let through", do: (*Bot).grants},
		{name: "revoke", who: owners, usage: "N", help: "take back what request N left", do: (*Bot).revoke},

		{name: "policies", who: owners, usage: "[@AGENT]", help: "the rules that decide calls", do: (*Bot).policies},
		{name: "explain", who: owners, usage: "[@AGENT] TOOL [NAME=VALUE …] [as USER|ROLE]", help: "what would be decided about a call, and why", do: (*Bot).explain},
		{name: "allow", who: owners, usage: "[@AGENT] TOOL [to any|ROLE|USER|circle:NAME …] [force]", help: "let a tool be called; TOOL may be a pattern such as mcp__files__*", do: (*Bot).rule},
		{name: "deny", who: owners, usage: "[@AGENT] TOOL [to any|ROLE|USER|circle:NAME …] [force]", help: "forbid a tool", do: (*Bot).rule},
		{name: "ask", who: owners, usage: "[@AGENT] TOOL [to any|ROLE|USER|circle:NAME …] [force]", help: "have each call of a tool approved", do: (*Bot).rule},
		{name: "forget", who: owners, usage: "[@AGENT] TOOL [allow|deny|ask]", help: "delete the rules about a tool", do: (*Bot).forget},
		{name: "users", who: owners, usage: "[@AGENT]", help: "the people of an agent", do: (*Bot).users},
		{name: "role", who: owners, usage: "[@AGENT] USER ROLE", help: "make somebody owner, user or guest", do: (*Bot).role},
		{name: "circle", who: owners, usage: "[@AGENT] list, or add|remove CIRCLE USER", help: "labels of people that rules may name", do: (*Bot).circle},
		{name: "mute", who: reviewers, usage: "1h, or off", help: "let cards come silently for a while; those of high risk still ring", do: (*Bot).mute},
		{name: "quiet", who: reviewers, usage: "22:00-07:00 [ZONE], or off", help: "let cards come silently at these hours of each day", do: (*Bot).quiet},
	}
}

// find gives a command by its name, nil for none.
func (b *Bot) find(name string) *command {
	for _, c := range b.commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

// nearest is the command that a person has most likely mistyped, nil when none
// is near.
func (b *Bot) nearest(word string, who person) *command {
	var best *command
	least := 3
	for _, c := range b.commands {
		if len(who.agents(c.who)) == 0 {
			continue
		}
		d := spelling.Distance(word, c.name)
		if len(word) > 2 && (strings.HasPrefix(c.name, word) || strings.HasPrefix(word, c.name)) {
			d = 1
		}
		if d < least && d < len(c.name)/2+1 {
			best, least = c, d
		}
	}
	return best
}
