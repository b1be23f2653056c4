package shell

import "strings"

// harmlessVariables change how programs show things, not what they do.
var harmlessVariables = set(`LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CI DEBUG VERBOSE
	PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE RUST_LOG NODE_ENV DEBIAN_FRONTEND GOOS GOARCH CGO_ENABLED
	GIT_TERMINAL_PROMPT`)

// commandingVariables say which programs are found, or hold commands that a shell
// runs by itself.
var commandingVariables = set(`PATH path IFS ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH cdpath
	FPATH fpath ZDOTDIR NULLCMD READNULLCMD GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS`)

func commands(name string) bool {
	return commandingVariables[name] || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC")
}

// variable judges an assignment: most variables mean something to some program.
func (r *reader) variable(p *Part, name string, value Word) {
	switch {
	case commands(name):
		p.blame(unclearEnv)
	case harmlessVariables[name] || strings.HasPrefix(name, "LC_"):
		return
	}
	if runsInSubscript(value.Text) {
		p.blame(unclearMath)
	}
	p.Env = name
	r.mayRun(p, []Word{value}, 0)
}

// declared judges the words of export and its like.
func (r *reader) declared(p *Part, args []Word) {
	for _, w := range args {
		name, value, assigns := strings.Cut(w.Text, "=")
		switch {
		case w.Kind == Unknown && !assigns:
			p.blame(unclearEnv)
		case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "+"):
			if strings.Trim(name, "-xrgp") != "" {
				p.blame(unclearShell)
			}
		case assigns:
			r.variable(p, strings.TrimSuffix(name, "+"), Word{Text: value, Kind: w.Kind})
		case commands(name):
			p.blame(unclearEnv)
		}
	}
}
