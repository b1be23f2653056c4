package shell

import (
	"regexp"
	"slices"
	"strings"
)

// special is what a program does whose arguments need a reading of their own.
type special func(r *reader, p *Part, words []Word, depth int)

// shells take a text with -c; all of them read it as sh, bash or zsh do.
var shells = set("sh bash zsh dash ksh ash mksh pdksh rbash")

// interpreters run code that is not a shell's, from an argument, a file or their input.
var interpreters = set(`python pypy perl ruby node nodejs deno bun php lua luajit tclsh wish expect osascript fish csh tcsh
	pwsh powershell cmd nu xonsh elvish rscript r julia ghci runghc groovy scala erl elixir iex swift irb awk gawk mawk nawk jjs jrunscript
	guile racket sbcl clojure dc m4 gdb`)

// codeOptions give an interpreter its code.
var codeOptions = regexp.MustCompile(`^(-[A-Za-z]*[ceEprRS]|-x|--eval|--print|--exec|--execute|--run|--command|-Command|-EncodedCommand|/[cCkK]|eval|repl)($|=|.)`)

// specialOf returns the reading of a program by its name.
func specialOf(name string) special {
	switch {
	case shells[name]:
		return shellProgram
	case interpreters[name]:
		return interpreter
	case changesShell[name]:
		return blames(unclearShell)
	case remotes[name]:
		return blames(unclearRemote)
	case runners[name]:
		return blames(unclearOption)
	case declarators[name]:
		return declaring
	case setters[name]:
		return setting
	case copiers[name]:
		return copying
	}
	switch name {
	case "command":
		return commandBuiltin
	case "eval":
		return evalBuiltin
	case "trap":
		return trapBuiltin
	case "su", "runuser":
		return asUser
	case "script":
		return typescript
	case "flock":
		return locked
	case "xargs", "gxargs":
		return fromInput
	case "find", "gfind":
		return foundFiles
	case "git":
		return gitCommand
	case "sed", "gsed":
		return streamEditor
	}
	return nil
}

var (
	changesShell = set(". source alias hash enable shopt complete compgen bind let fc history autoload zmodload setopt emulate sched zle")
	remotes      = set("ssh mosh slogin rsh plink")
	runners      = set("parallel at batch crontab screen tmux systemd-run nsenter bwrap")
	declarators  = set("export declare local readonly typeset integer float nameref")
	setters      = set("printf read mapfile readarray getopts unset vared")
	copiers      = set("tee cp mv ln install link dd curl wget rsync")
)

func blames(why string) special {
	return func(r *reader, p *Part, words []Word, depth int) {
		p.blame(why)
		r.mayRun(p, words[1:], depth)
	}
}

// commandBuiltin looks through command, which with -v or -V only tells.
func commandBuiltin(r *reader, p *Part, words []Word, depth int) {
	if len(words) > 1 && words[1].Kind == Plain && (words[1].Text == "-v" || words[1].Text == "-V") {
		return
	}
	r.wrapped(p, wrapper{options: options{flags: "p"}}, words, depth)
}

func evalBuiltin(r *reader, p *Part, words []Word, depth int) {
	if len(words) > 1 {
		r.text(p, join(words[1:]), depth)
	}
}

func trapBuiltin(r *reader, p *Part, words []Word, depth int) {
	if len(words) > 2 && words[1].Text != "-" && words[1].Text != "" {
		r.text(p, words[1], depth)
		if strings.HasPrefix(words[1].Text, "-") {
			p.blame(unclearOption)
		}
	}
}

func declaring(r *reader, p *Part, words []Word, _ int) { r.declared(p, words[1:]) }

// setting are builtins that put what they read into variables.
func setting(_ *reader, p *Part, words []Word, _ int) {
	for _, w := range words[1:] {
		if commands(w.Text) || w.Text == "-C" || strings.HasPrefix(w.Text, "-v") && commands(w.Text[2:]) {
			p.blame(unclearEnv)
		}
	}
}

// shellLetters and shellLong are options of shells that change nothing of what a
// text comes to; c says that there is one.
const shellLetters = "lefuxvhaCbmpnEco"

var shellLong = set("login norc noprofile posix")

// shellProgram reads what a shell is given: a text, a file, or its input.
func shellProgram(r *reader, p *Part, words []Word, depth int) {
	rest, text := words[1:], false
	for len(rest) > 0 && rest[0].Kind == Plain && len(rest[0].Text) > 1 && strings.IndexByte("-+", rest[0].Text[0]) >= 0 {
		option := rest[0].Text
		if rest = rest[1:]; option == "--" {
			break
		}
		known := shellLong[strings.TrimPrefix(option, "--")]
		if option[:2] != "--" {
			known = strings.Trim(option[1:], shellLetters) == ""
			text = text || strings.Contains(option, "c")
			if i := strings.IndexByte(option, 'o'); i > 0 {
				known = known && i == len(option)-1 && len(rest) > 0
				rest = rest[min(1, len(rest)):]
			}
		}
		if !known {
			p.blame(unclearOption)
			r.mayRun(p, words[1:], depth)
			return
		}
	}
	switch {
	case len(rest) == 0:
		p.blame(unclearInput)
	case text:
		r.text(p, rest[0], depth)
	case rest[0].Kind != Plain:
		p.blame(unclearExpansion)
	case rest[0].Text == "-" || strings.HasPrefix(rest[0].Text, "/dev/") || strings.HasPrefix(rest[0].Text, "/proc/"):
		p.blame(unclearInput)
	default:
		r.mayRun(p, rest, depth)
	}
}

// interpreter lets files be run; code in an argument or from the input is not read.
func interpreter(r *reader, p *Part, words []Word, depth int) {
	file := false
	name := baseOf(ProgramName(words[0].Text))
	for i, w := range words[1:] {
		switch {
		case w.Kind > Globbed:
			p.blame(unclearCode)
		case !file && codeOptions.MatchString(w.Text):
			p.blame(unclearCode)
		case w.Text == "-" || strings.HasPrefix(w.Text, "/dev/stdin") || strings.HasPrefix(w.Text, "/dev/fd") || strings.HasPrefix(w.Text, "/proc/"):
			p.blame(unclearInput)
		case w.Text == "--version" || w.Text == "--help" || (w.Text == "-V" || w.Text == "-v") && len(words) == 2:
			file = true
		case name == "python" && (w.Text == "-m" || strings.HasPrefix(w.Text, "-m")):
			file = true
		case !strings.HasPrefix(w.Text, "-"):
			file = file || !strings.HasSuffix(name, "awk") || words[i].Text == "-f"
		}
	}
	if !file {
		p.blame(unclearCode)
	}
	r.mayRun(p, words[1:], depth)
}

// asUser reads su, whose options may stand anywhere.
func asUser(r *reader, p *Part, words []Word, depth int) {
	given := false
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		name, value, valued := strings.Cut(text, "=")
		switch {
		case words[i].Kind != Plain:
			p.blame(unclearExpansion)
		case (text == "-c" || name == "--command" || name == "--session-command") && (valued || i+1 < len(words)):
			if !valued {
				i++
				value = words[i].Text
			}
			given = true
			r.text(p, Word{Text: value, Kind: words[i].Kind}, depth)
		case text == "-u" && ProgramName(words[0].Text) == "runuser" && i+2 < len(words):
			rest := words[i+2:]
			if rest[0].Text == "--" {
				rest = rest[1:]
			}
			r.through(p, rest, depth+1)
			return
		case text == "-" || text == "-l" || text == "-m" || text == "-p" || text == "--login" || !strings.HasPrefix(text, "-"):
		default:
			p.blame(unclearOption)
		}
	}
	if !given {
		p.blame(unclearInput)
	}
	r.mayRun(p, words[1:], depth)
}

// typescript reads script, of which there are two: -c TEXT, or FILE COMMAND.
func typescript(r *reader, p *Part, words []Word, depth int) {
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		switch {
		case strings.HasPrefix(text, "--command="):
			r.text(p, Word{Text: text[len("--command="):], Kind: words[i].Kind}, depth)
			return
		case i+1 < len(words) && (text == "--command" || len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.HasSuffix(text, "c")):
			r.text(p, words[i+1], depth)
			return
		case strings.HasPrefix(text, "-") && strings.Trim(text, "-aefq") != "":
			p.blame(unclearOption)
			r.mayRun(p, words[1:], depth)
			return
		case !strings.HasPrefix(text, "-") && i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "-"):
			r.through(p, words[i+1:], depth+1)
			return
		}
	}
	p.blame(unclearInput)
}

// locked reads flock FILE COMMAND and flock FILE -c TEXT.
func locked(r *reader, p *Part, words []Word, depth int) {
	o := options{flags: "sxeonuFv", values: "wE", long: set("shared exclusive nonblock nb unlock close no-fork verbose"), longValues: set("timeout wait conflict-exit-code")}
	rest, ok := o.skip(words[1:])
	switch {
	case !ok:
		p.blame(unclearOption)
		r.mayRun(p, words[1:], depth)
	case len(rest) > 2 && (rest[1].Text == "-c" || rest[1].Text == "--command"):
		r.text(p, rest[2], depth)
	case len(rest) > 1:
		r.through(p, rest[1:], depth+1)
	}
}

var xargsOptions = options{flags: "0prtxo", values: "dEILlnPsaRJS", long: set("null no-run-if-empty verbose interactive exit open-tty replace replace= max-lines max-lines= eof eof="),
	longValues: set("max-args max-procs max-chars delimiter arg-file process-slot-var")}

// fromInput reads xargs: what it adds to the command is not known.
func fromInput(r *reader, p *Part, words []Word, depth int) {
	rest, ok := xargsOptions.skip(words[1:])
	if !ok {
		p.blame(unclearOption)
		r.mayRun(p, words[1:], depth)
		return
	}
	if len(rest) == 0 {
		return // it prints
	}
	replaced := replacedBy(words[1 : len(words)-len(rest)])
	run := make([]Word, 0, len(rest)+1)
	for _, w := range rest {
		if replaced != "" && strings.Contains(w.Text, replaced) {
			w.Kind = Unknown
		}
		run = append(run, w)
	}
	r.through(p, append(run, Word{Kind: Unknown}), depth+1)
}

// replacedBy is the text for which xargs puts in what it reads.
func replacedBy(given []Word) string {
	for i, w := range given {
		switch text := w.Text; {
		case (text == "-I" || text == "-J") && i+1 < len(given):
			return given[i+1].Text
		case strings.HasPrefix(text, "-I") || strings.HasPrefix(text, "-J"):
			return text[2:]
		case strings.HasPrefix(text, "--replace="):
			return text[len("--replace="):]
		case text == "--replace":
			return "{}"
		}
	}
	return ""
}

var findActions = set("-exec -execdir -ok -okdir")

// foundFiles reads the commands of find.
func foundFiles(r *reader, p *Part, words []Word, depth int) {
	for i := 1; i < len(words); i++ {
		if !findActions[words[i].Text] {
			if words[i].Kind > Globbed {
				p.blame(unclearExpansion)
			}
			continue
		}
		end := i + 1 + slices.IndexFunc(words[i+1:], func(w Word) bool { return w.Text == ";" || w.Text == "+" })
		if end <= i {
			end = len(words)
		}
		run := slices.Clone(words[i+1 : end])
		for j := range run {
			if strings.Contains(run[j].Text, "{}") {
				run[j].Kind = Unknown
			}
		}
		r.through(p, run, depth+1)
		i = end
	}
}

// copying are programs that may put a program somewhere else.
func copying(r *reader, p *Part, words []Word, depth int) {
	for _, w := range words[1:] {
		if !strings.HasPrefix(w.Text, "-") {
			p.writes = append(p.writes, ProgramName(strings.TrimPrefix(w.Text, "of=")))
		}
	}
	r.mayRun(p, words[1:], depth)
}

// safeScripts are those of sed that can neither run commands nor write files.
var safeScripts = []*regexp.Regexp{
	regexp.MustCompile(`^(\d+|\$)?(,(\+?\d+|\$))?[pdq=]?$`),
	regexp.MustCompile(`^/([^/\\\n]|\\[^\n])*/[pd]$`),
	regexp.MustCompile(`^(\d+|\$)?(,(\+?\d+|\$))?s/([^/\\\n]|\\[^\n])*/([^/\\\n]|\\[^\n])*/[gpiI0-9]*$`),
	regexp.MustCompile(`^s\|([^|\\\n]|\\[^\n])*\|([^|\\\n]|\\[^\n])*\|[gpiI0-9]*$`),
	regexp.MustCompile(`^s#([^#\\\n]|\\[^\n])*#([^#\\\n]|\\[^\n])*#[gpiI0-9]*$`),
}

// streamEditor reads sed, whose scripts can run commands.
func streamEditor(_ *reader, p *Part, words []Word, _ int) {
	script := false
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		switch {
		case words[i].Kind > Globbed:
			p.blame(unclearExpansion)
		case text == "-e" || text == "--expression":
			script = false
		case strings.HasPrefix(text, "-") && strings.Trim(text, "-nErsiz") == "" || text == "--quiet" || text == "--silent" || text == "--regexp-extended":
		case strings.HasPrefix(text, "-"):
			p.blame(unclearOption)
		case !script:
			script = true
			if !slices.ContainsFunc(safeScripts, func(safe *regexp.Regexp) bool { return safe.MatchString(text) }) {
				p.blame(unclearCode)
			}
		}
	}
}
