package shell

// runsOthers are programs that run what their arguments, or files beside them, say,
// besides those that this package looks through.
var runsOthers = set(`npm npx pnpm pnpx yarn bun bunx deno pip pip3 pipx uv uvx poetry cargo go gradle mvn make gmake cmake ninja just rake task
	docker podman nerdctl kubectl helm ansible ansible-playbook terraform tofu vagrant systemctl systemd-run at batch crontab
	tmux screen expect gdb lldb vim vi nvim emacs less more man ed tar rsync zip apt apt-get dpkg yum dnf brew gem composer`)

// RunsOthers reports whether a program can be told to run any other one. It is for
// advice: of a program that it does not know it says no.
func RunsOthers(name string) bool {
	name = ProgramName(name)
	_, wrapper := wrappers[name]
	base := baseOf(name)
	return wrapper || shells[base] || interpreters[base] || remotes[name] || runners[name] || runsOthers[name] ||
		set("command eval su runuser script flock xargs gxargs find gfind git sed gsed . source")[name]
}
