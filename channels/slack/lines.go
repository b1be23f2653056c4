package slack

import (
	"strings"

	"holm/bot"
)

// factLines is one line for each fact; plain_text has no monospaced form, so
// Fact.Code has no effect.
func factLines(facts []bot.Fact) []string {
	values := make([]string, len(facts))
	for i, f := range facts {
		values[i] = f.Value
	}
	size := share(values, factsBudget-labelBudget, valueBudget)
	lines := make([]string, len(facts))
	for i, f := range facts {
		value := clip(f.Value, size, 0)
		if f.Quote {
			value = "“" + value + "”"
		}
		lines[i] = labelled(f.Label, value)
	}
	return lines
}

// argLines is one line for each argument. A value that does not fit is cut
// further, and the line tells all that is missing.
func argLines(args []bot.Arg, most int) []string {
	values := make([]string, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	size := share(values, argsBudget-labelBudget, most)
	lines := make([]string, len(args))
	for i, a := range args {
		lines[i] = labelled(a.Name, clip(values[i], size, a.Cut))
	}
	return lines
}

func labelled(label, value string) string {
	return clip(strings.ReplaceAll(label, "\n", "↵"), labelBudget, 0) + ": " + value
}

func noteLines(notes []string) []string {
	size := share(notes, notesBudget, sectionBudget)
	var lines []string
	for _, note := range notes {
		if strings.TrimSpace(note) != "" {
			lines = append(lines, clip(note, size, 0))
		}
	}
	return lines
}
