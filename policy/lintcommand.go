package policy

import "holm/policy/shell"

// checkCommand finds patterns of commands that are about nothing, or about more than
// they seem to be.
func (l *linter) checkCommand(r *rule) {
	if r.row.ResourceType != TypeExec || r.fromApproval() {
		return
	}
	c := &r.area.command
	switch {
	case c.kind == globCommand && len(c.words) == 0 && r.effect == Allow:
		l.report(r, FindingNeverMatches, "a glob is about the words of one command, and this is more than that or not known before it runs")
	case r.effect == Allow && c.kind == globCommand:
		l.anyProgram(r, c)
	case r.effect != Allow && c.kind != anyCommand:
		l.exception(r)
	}
}

// anyProgram finds allow rows for a program with any arguments that runs others.
func (l *linter) anyProgram(r *rule, c *command) {
	program := c.literal(0)
	switch {
	case program == "":
		l.report(r, FindingAnyProgram, "it leaves open which program runs")
	case len(c.words) == 2 && c.words[1].any && shell.RunsOthers(program):
		l.report(r, FindingAnyProgram, "%s runs any program that its arguments or files name; allow the commands that are wanted, such as \"%s WORD *\"", program, program)
	}
}

// exception finds rows against some commands where another row allows all of them.
func (l *linter) exception(r *rule) {
	for _, other := range l.rules {
		if other.effect == Allow && !other.fromApproval() && other.area != nil && other.row.ResourceType == TypeExec &&
			other.area.command.kind == anyCommand && other.spansKey(r) {
			l.report(r, FindingException, "row %q allows all commands, and a script or another program can do the same in other words; allow what is wanted, and ask about the rest", other.row.ID)
			return
		}
	}
}
