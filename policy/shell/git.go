package shell

import "strings"

// gitOptions are those before git's own command.
var gitOptions = options{flags: "pPv", values: "C", long: set("no-pager paginate bare no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks git-dir= work-tree= namespace= version help"),
	longValues: set("git-dir work-tree namespace")}

// gitRuns are commands of git that run programs named in their arguments.
var gitRuns = set("bisect submodule rebase filter-branch difftool mergetool config grep send-email for-each-repo clone fetch pull push ls-remote archive remote maintenance")

// gitCommand knows git as a program whose arguments are data, except where they
// hold commands: settings can, and so do some of its commands.
func gitCommand(r *reader, p *Part, words []Word, depth int) {
	rest := words[1:]
	for len(rest) > 1 && rest[0].Kind == Plain && rest[0].Text == "-c" {
		if name, _, _ := strings.Cut(strings.ToLower(rest[1].Text), "="); !harmlessSettings[name] || rest[1].Kind != Plain {
			p.blame(unclearOption)
		}
		rest = rest[2:]
	}
	left, ok := gitOptions.skip(rest)
	if !ok {
		p.blame(unclearOption)
		r.mayRun(p, words[1:], depth)
		return
	}
	if len(left) == 0 {
		return
	}
	for _, w := range left[1:] {
		if gitRuns[left[0].Text] || strings.HasPrefix(w.Text, "-") || left[0].Kind != Plain {
			r.mayRun(p, []Word{w}, depth)
		}
	}
}

var harmlessSettings = set("user.name user.email color.ui core.quotepath advice.detachedhead init.defaultbranch")
