package policy

// hidden finds allow rows for files and commands in whose area a narrower allow
// row takes their place without speaking for all the same people.
func (l *linter) hidden() {
	byPath := map[string][]*rule{}
	var commands []*rule
	for _, r := range l.rules {
		switch {
		case r.area == nil || r.effect != Allow || r.fromApproval():
		case r.row.ResourceType == TypeFile:
			byPath[r.area.path] = append(byPath[r.area.path], r)
		default:
			commands = append(commands, r)
		}
	}
	seen := map[*rule]bool{}
	for _, narrow := range l.rules {
		if narrow.area != nil && narrow.row.ResourceType == TypeFile && narrow.effect == Allow && !narrow.fromApproval() {
			for dir := parentDir(narrow.area.path); dir != ""; dir = parentDir(dir) {
				l.hiddenBy(narrow, byPath[dir], seen)
			}
		}
	}
	for _, narrow := range commands {
		l.hiddenBy(narrow, commands, seen)
	}
}

// hiddenBy reports each rule once.
func (l *linter) hiddenBy(narrow *rule, wide []*rule, seen map[*rule]bool) {
	for _, w := range wide {
		if seen[w] || !w.area.isWiderThan(narrow.area) || spansGrants(narrow, w) {
			continue
		}
		seen[w] = true
		l.report(w, FindingHidden, "it does not count for %s, where row %q is narrower and speaks for others", narrow.area, narrow.row.ID)
	}
}

// isWiderThan reports whether the other area is a more specific one that some
// resource within this area is in.
func (a *area) isWiderThan(b *area) bool {
	if !meet(a.sandbox, b.sandbox) || !meet(a.mode, b.mode) {
		return false
	}
	if a.path != "" {
		return len(b.path) > len(a.path) && within(b.path, a.path)
	}
	inPlace := a.cwd == "" || b.cwd == "" || within(a.cwd, b.cwd) || within(b.cwd, a.cwd)
	if a.command.kind != b.command.kind {
		return inPlace && a.command.kind > b.command.kind && (a.command.kind == anyCommand || a.command.spans(&b.command))
	}
	return inPlace && a.command.text == b.command.text && a.cwd == "" && b.cwd != ""
}

func meet(a, b string) bool { return a == "*" || b == "*" || a == b }
