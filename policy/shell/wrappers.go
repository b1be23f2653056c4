package shell

// wrapper is a program that runs its arguments.
type wrapper struct {
	options options
	before  int  // words between the options and the command
	assigns bool // NAME=VALUE may stand before the command
	text    bool // the command's words are joined and given to a shell
	shell   bool // without a command it starts a shell
}

// wrappers are known with their options, those of GNU and of BSD. What is missing
// is an unknown option, which cannot be judged.
var wrappers = map[string]wrapper{
	"env": {options: options{flags: "i0v", values: "u", long: set("ignore-environment null debug list-signal-handling block-signal block-signal= default-signal default-signal= ignore-signal ignore-signal="),
		longValues: set("unset")}, assigns: true},
	"builtin":    {},
	"exec":       {options: options{flags: "cl", values: "a"}},
	"nohup":      {},
	"nice":       {options: options{flags: "0123456789", values: "n", longValues: set("adjustment")}},
	"ionice":     {options: options{flags: "t", values: "cn", long: set("ignore"), longValues: set("class classdata")}},
	"chrt":       {options: options{flags: "abfiordRv"}, before: 1},
	"taskset":    {options: options{flags: "ac", long: set("all-tasks cpu-list")}, before: 1},
	"time":       {options: options{flags: "pvaq", values: "fo", long: set("portability verbose append quiet"), longValues: set("format output")}},
	"timeout":    {options: options{flags: "vfp", values: "ks", long: set("foreground preserve-status verbose"), longValues: set("kill-after signal")}, before: 1},
	"gtimeout":   {options: options{flags: "vfp", values: "ks", long: set("foreground preserve-status verbose"), longValues: set("kill-after signal")}, before: 1},
	"stdbuf":     {options: options{values: "ioe", longValues: set("input output error")}},
	"unbuffer":   {options: options{flags: "p"}},
	"setsid":     {options: options{flags: "cfw", long: set("ctty fork wait")}},
	"caffeinate": {options: options{flags: "disum", values: "tw"}},
	"sudo": {options: options{flags: "AbEHknPSN", values: "ugpCTrt", long: set("askpass background preserve-env preserve-env= set-home non-interactive preserve-groups stdin"),
		longValues: set("user group prompt close-from command-timeout role type")}, assigns: true, shell: true},
	"doas":             {options: options{flags: "nL", values: "u"}, shell: true},
	"pkexec":           {options: options{longValues: set("user"), long: set("disable-internal-agent keep-cwd")}, shell: true},
	"busybox":          {},
	"toybox":           {},
	"chroot":           {options: options{long: set("skip-chdir"), longValues: set("userspec groups"), values: "ugG"}, before: 1, shell: true},
	"unshare":          {options: options{flags: "mupinUrTCfc", long: set("mount uts pid ipc net user cgroup time fork map-root-user map-current-user mount-proc")}, shell: true},
	"setarch":          {options: options{flags: "R", long: set("addr-no-randomize")}, before: 1, shell: true},
	"linux32":          {shell: true},
	"linux64":          {shell: true},
	"strace":           {options: options{flags: "fFqvtTrixycCkyYzZhdD", values: "easSuPXbI"}},
	"watch":            {options: options{flags: "bcdegtpwrC", values: "nqs", long: set("beep color differences errexit chgexit no-title precise no-wrap"), longValues: set("interval")}, text: true},
	"chronic":          {options: options{flags: "ve"}},
	"ifne":             {options: options{flags: "n"}},
	"dbus-run-session": {},
	"fakeroot":         {shell: true},
	"noglob":           {},
	"nocorrect":        {},
	"-":                {},
	"repeat":           {before: 1},
	"not":              {},
	"and":              {},
	"or":               {},
	"begin":            {},
	"end":              {},
	"setpriv":          {options: options{long: set("no-new-privs clear-groups keep-groups init-groups reset-env"), longValues: set("reuid regid euid egid ruid rgid")}},
	"catchsegv":        {},
}
