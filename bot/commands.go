package bot

import "strings"

// table is all that people may type, in the order of the help. Invitations
// (start TOKEN, link TOKEN) are taken before it, from strangers too.
func table() []*command {
	return []*command{
		{"start", members, "", "who you are here, and this help", (*Bot).start},
		{"help", members, "[COMMAND]", "what you can do; of one command: how", (*Bot).help},
		{"whoami", members, "", "who you are here", (*Bot).whoami},
		{"link", members, "[TOKEN]", "link another account of yours to this one; with a token: say that this is the other account, or accept an invitation", (*Bot).link},
		{"unlink", members, "[N]", "undo what was linked within a day", (*Bot).unlink},
		{"undo", members, "N", "the same", (*Bot).unlink},
		{"tools", members, "[@AGENT] [TOOL]", "the tools you may call now, and where approval is needed; of one tool: its arguments", (*Bot).tools},
		{"run", members, "[@AGENT] TOOL NAME=VALUE … or {JSON}", "call a tool as yourself; quotes keep spaces together", (*Bot).run},
		{"requests", members, "[@AGENT]", "your newest requests and how they stand", (*Bot).requests},
		{"status", members, "N", "how request N of yours stands", (*Bot).status},
		{"cancel", members, "N [REASON]", "take request N back, if nobody has answered it", (*Bot).cancel},

		{"pending", reviewers, "[@AGENT]", "what waits for a decision", (*Bot).pending},
		{"approve", reviewers, "N [single|hour|always|always these] [REASON]",
			"allow one call (single, the default), the same call for a time (hour), this tool for good (always), or with these arguments (always these)", (*Bot).approve},
		{"reject", reviewers, "N [REASON]", "refuse; the reason is passed on", (*Bot).reject},
		{"grants", owners, "[@AGENT]", "what approvals still let through", (*Bot).grants},
		{"revoke", owners, "N", "take back what request N left", (*Bot).revoke},
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
		d := distance(word, c.name)
		if len(word) > 2 && (strings.HasPrefix(c.name, word) || strings.HasPrefix(word, c.name)) {
			d = 1
		}
		if d < least && d < len(c.name)/2+1 {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of letters to change, add or leave out between two
// words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
