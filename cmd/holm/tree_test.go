package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// leaves are the commands of a tree that do something, without what cobra adds.
func leaves(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if sub.HasAvailableSubCommands() {
			all = append(all, leaves(sub)...)
			if !strings.Contains(sub.Use, " ") {
				continue
			}
		}
		all = append(all, sub)
	}
	return all
}

// TestEveryCommandHasAnExample that begins with the command itself.
func TestEveryCommandHasAnExample(t *testing.T) {
	all := leaves(newRoot())
	if len(all) < 40 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, cmd := range all {
		if !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: --help has no example of it: %q", cmd.CommandPath(), cmd.Example)
		}
	}
}
