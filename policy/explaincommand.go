package policy

import "holm/policy/shell"

// saying is what an explanation has about one rule.
type saying struct {
	rule             *rule
	obstacle, ground string
	unjudged         string
}

// explainCommand names each rule that is about a part of the command once, by the
// part where it counts.
func (s *Set) explainCommand(e *Explanation, r *Resource, c *call) map[*rule]bool {
	parts := shell.Read(r.Command)
	var all []*saying
	known := map[*rule]*saying{}
	for i := range parts {
		where := ""
		if len(parts) > 1 {
			where = "for " + quoteClipped(parts[i].Text) + ": "
		}
		for _, cwd := range directories(r.CWD, parts[i].Dirs) {
			for _, one := range s.sayings(r, &parts[i], cwd, c) {
				before := known[one.rule]
				switch {
				case before == nil:
					known[one.rule] = one
					all = append(all, one)
				case before.obstacle == "" || one.obstacle != "":
					continue
				default:
					*before = *one
					one = before
				}
				one.ground = where + one.ground
			}
		}
	}
	named := map[*rule]bool{}
	for _, one := range all {
		named[one.rule] = true
		e.addSaying(one, c)
	}
	return named
}

func (e *Explanation) addSaying(one *saying, c *call) {
	e.add(one.rule, &c.who, one.obstacle, one.ground)
	if one.obstacle == "" {
		e.Reasons[len(e.Reasons)-1].Unjudged = one.unjudged
	}
}

// sayings are what is to be said about the rules that are about one part, and about
// the files that the shell opens for it.
func (s *Set) sayings(r *Resource, of *shell.Part, cwd string, c *call) (all []*saying) {
	part := new(*of)
	s.placeFiles(part, cwd)
	var p pool
	s.areas.findPart(&p, r, part, cwd)
	c.named = p.allows.all()
	for i, b := range p.found.all() {
		for _, rule := range b.inOrder() {
			one := &saying{rule: rule, obstacle: rule.partObstacle(&p, b, cwd, c)}
			if i >= p.judged {
				one.unjudged = part.Unclear
			}
			one.ground = rule.partGround(part, cwd, one.unjudged != "", c)
			all = append(all, one)
		}
	}
	c.named = nil
	for _, f := range part.Files {
		if file := redirected(r, f, cwd); file.Path != "" {
			all = append(all, s.fileSayings(&file, c)...)
		}
	}
	return all
}

func (s *Set) fileSayings(file *Resource, c *call) (all []*saying) {
	var p pool
	s.areas.findFile(&p, file, file.Path)
	for _, b := range p.found.all() {
		for _, rule := range b.inOrder() {
			all = append(all, &saying{rule: rule, obstacle: rule.areaObstacle(&p, b, c), ground: "is about a file that the shell opens; " + rule.ground(c)})
		}
	}
	return all
}

// partObstacle says why a rule that is about a part does not count.
func (r *rule) partObstacle(p *pool, b *bucket, cwd string, c *call) string {
	if r.effect == Allow && !r.fromApproval() && r.area.cwd != "" && cwd == "" {
		return unknownDirectory
	}
	if r.rest && r.givesWay(c) && r.speaksFor(&c.who) {
		return "a row that allows less than it is an exception from it"
	}
	return r.areaObstacle(p, b, c)
}

const unknownDirectory = "the working directory is not known"

func (r *rule) partGround(part *shell.Part, cwd string, unjudged bool, c *call) string {
	why := r.ground(c)
	switch {
	case r.area.cwd != "" && cwd == "" && !r.fromApproval():
		why = unknownDirectory + "; " + why
	case unjudged:
		why = "the command cannot be judged: " + part.Unclear + "; " + why
	case r.effect != Allow && r.area.command.kind != anyCommand && r.area.command.onlyMayRun(part):
		why = "a program of which nothing is known may run what it is about; " + why
	}
	return why
}

// onlyMayRun reports whether the part has the pattern's program as a word alone.
func (c *command) onlyMayRun(p *shell.Part) bool {
	if !c.mayRunIn(p) {
		return false
	}
	for _, run := range p.Runs {
		if c.meets(run) {
			return false
		}
	}
	return true
}
