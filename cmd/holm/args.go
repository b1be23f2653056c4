package main

import (
	"regexp"
	"strings"
)

// condition looks like a value of --args: an argument's name or path, then =.
var condition = regexp.MustCompile(`^[A-Za-z_][\w.\[\]-]*=`)

// expandArgs lets --args take several values after one flag:
// "--args a=1 b=2" becomes "--args=a=1 --args=b=2". A value may begin with
// anything after its =. "--" ends the flags as always.
func expandArgs(args []string) []string {
	var expanded []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(expanded, args[i:]...)
		}
		first := args[i] == "--args" && i+1 < len(args)
		if !first && !strings.HasPrefix(args[i], "--args=") {
			expanded = append(expanded, args[i])
			continue
		}
		if first { // whatever follows is its value; a wrong one is refused later
			i++
			expanded = append(expanded, "--args="+args[i])
		} else {
			expanded = append(expanded, args[i])
		}
		for i+1 < len(args) && condition.MatchString(args[i+1]) {
			i++
			expanded = append(expanded, "--args="+args[i])
		}
	}
	return expanded
}
