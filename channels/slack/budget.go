package slack

import (
	"fmt"
	"sort"
	"strings"
	"unicode"

	"holm/bot"
)

// Limits of Block Kit (docs.slack.dev/reference/block-kit), in characters
// unless they count things.
const (
	headerLimit   = 150
	fieldsLimit   = 10
	blocksLimit   = 50
	buttonLimit   = 75
	actionsLimit  = 25
	contextLimit  = 10
	sectionBudget = 2800 // Slack's limit is 3000, counted in ways it does not tell
)

// What a message may carry. Slack refuses all blocks together beyond about
// 13,200 characters (msg_blocks_too_long; reported, not documented).
const (
	headBudget  = 500
	factsBudget = 2500 // labels included, as in the next two
	argsBudget  = 7000
	notesBudget = 1200
	factBlocks  = 12
	noteBlocks  = 2
	plainBlocks = 4    // of a message without structure
	valueBudget = 2500 // of one section, beside the label
	fieldBudget = 1700 // of one field, beside the label
	labelBudget = 200
	textBudget  = 3000 // fallback text; chat.update refuses more than 4,000
)

// cost is the most that Slack may count s as: its three control characters
// are stored escaped, and characters beyond the first plane are two units.
func cost(s string) int {
	n := 0
	for _, r := range s {
		n += runeCost(r)
	}
	return n
}

func runeCost(r rune) int {
	switch {
	case r == '&':
		return len("&amp;")
	case r == '<' || r == '>':
		return len("&lt;")
	case r == bot.TimeMark:
		return dateCost
	case r > 0xFFFF:
		return 2
	}
	return 1
}

// clip is raw as a person must see it, within budget. A text that is too long,
// or of which somebody left out earlier characters before, ends in the number
// of characters missing. It does not part a letter from its combining marks.
func clip(raw string, budget, earlier int) string {
	runes := []rune(raw)
	if _, times := bot.Times(raw); len(times) > 0 && len(runes) <= budget {
		return dated(raw, shown, func(unix int64, _ string) string { return bot.Mark(unix) })
	}
	if earlier == 0 && len(runes) <= budget {
		if whole := shown(raw); cost(whole) <= budget {
			return whole
		}
	}
	const room = len("… (1234567890" + moreCharacters)
	n := fitting(runes, budget-room)
	for n > 0 && n < len(runes) && unicode.In(runes[n], unicode.M) {
		n--
	}
	return fmt.Sprintf("%s… (%d%s", shown(string(runes[:n])), len(runes)-n+earlier, moreCharacters)
}

// moreCharacters ends a text that was cut.
const moreCharacters = " more characters)"

// first is the first n characters of s, to spend no time on what cannot fit.
func first(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// fitting is how many of the first runes fit into budget once shown.
func fitting(runes []rune, budget int) int {
	most := min(len(runes), max(budget, 0)) // none costs less than 1
	return sort.Search(most, func(n int) bool { return cost(shown(string(runes[:n+1]))) > budget })
}

// share is the largest size, at most most, that all texts may have so that
// together they fit into budget: a long text cannot push out a later one.
func share(texts []string, budget, most int) int {
	costs := make([]int, len(texts))
	for i, text := range texts {
		costs[i] = cost(shown(first(text, most)))
	}
	return sort.Search(most, func(size int) bool {
		sum := 0
		for _, c := range costs {
			sum += min(c, size+1)
		}
		return sum > budget
	})
}

// within keeps as many of the first lines as fit into room and budget; the
// last one then tells how many are missing.
func within(lines []string, room, budget int) []string {
	if len(lines) <= room && total(lines) <= budget {
		return lines
	}
	kept := lines[:min(len(lines), room-1)]
	for len(kept) > 0 && total(kept) > budget {
		kept = kept[:len(kept)-1]
	}
	return append(kept[:len(kept):len(kept)], fmt.Sprintf("… %d more lines are not shown", len(lines)-len(kept)))
}

func total(lines []string) int {
	sum := 0
	for _, line := range lines {
		sum += cost(line)
	}
	return sum
}

// shown is s as a person must see it: invisible characters spelled out, and
// further lines indented so that none looks like a line of Holm's own.
func shown(s string) string {
	return strings.ReplaceAll(bot.Visible(s), "\n", "\n    ")
}
