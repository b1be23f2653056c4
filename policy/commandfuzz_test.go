package policy_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holm/policy"
)

// fragments are all that the texts of FuzzCommandStarts are made of: no name of a
// program that is not a stub or a builtin, no path from the root.
var fragments = []string{
	" ", "\n", ";", " && ", " || ", " | ", " & ", "(", ")", "{ ", "; }", "! ", "\\\n", "\\", "'", "\"", "`", "$(", "#", "=", ",", "{", "}",
	"terraform", "\"terraform\"", "terra\\form", "terra''form", "terra\\\nform", "$'terraform'", "$\"terraform\"", "./terraform", "TERRAFORM", "{terraform,apply}", "t*m", "./t?rraform",
	"apply", "good", "echo ", "true ", "a ", "-x ", "$x", "${x:-terraform}", "x=terraform", "x=a ", "X=1 ", "PATH=. ", "IFS=a ", "*",
	"env ", "env -u y ", "env -S ", "nice ", "nice -n 1 ", "timeout 5 ", "timeout -k 1 5 ", "nohup ", "command ", "command -v ", "exec ", "exec -a y ", "builtin ", "eval ", "xargs ", "xargs -I{} ", "-- ",
	"sh -c ", "bash -c ", "sh -ec ", "bash -lc ", "sh", "sh -s ", "trap ", " EXIT", ". ", "./f ", "alias ", "g=terraform", "g ", "g() ", "good() ", "echo() ", "function g ", "set -- ", "export ",
	"if ", "; then ", "; fi", "while ", "until ", "; do ", "; done", "for x in ", "case ", " in ", ") ", ";; esac", "[[ ", " ]]", "((", "))", "coproc ", "time ", "time -p ", "select x in ",
	" > f ", " >f", " < f ", " 2>&1 ", " >&2", " <<< ", " << E\n", "\nE\n", " <<'E'\n", "<(", ">(", "&> f ", " |& ", "cd . ", "in ", "do ", "x ", "1", "&& ", "|", "apply ", "<", ">", "shopt -s expand_aliases\n", "let ", "a[", "]", "printf -v ", "read ", "test -v ", "unset ", "hash -p ./terraform ", "PS4=", "set -x ", "BASH_ENV=f ", "ENV=f ", "wait ",
}

// textOf makes a text of the bytes, each of which is a fragment.
func textOf(data []byte) string {
	var text strings.Builder
	for _, b := range data[:min(len(data), 24)] {
		text.WriteString(fragments[int(b)%len(fragments)])
	}
	return text.String()
}

// bytesOf finds fragments that make up a text, the longest first.
func bytesOf(t testing.TB, text string) []byte {
	order := make([]int, len(fragments))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return len(fragments[b]) - len(fragments[a]) })
	var data []byte
	for text != "" {
		i := slices.IndexFunc(order, func(i int) bool { return strings.HasPrefix(text, fragments[i]) })
		if i < 0 {
			t.Fatalf("no fragment begins %q", text)
		}
		data = append(data, byte(order[i]))
		text = text[len(fragments[order[i]]):]
	}
	return data
}

// sandbox is a folder with recording stubs and the programs that run others, which
// find nothing but the stubs.
type sandbox struct{ bin, log string }

func newSandbox(t testing.TB) *sandbox {
	s := &sandbox{bin: t.TempDir()}
	s.log = filepath.Join(t.TempDir(), "log")
	for _, name := range []string{"terraform", "good", "apply"} {
		s.stub(t, s.bin, name)
	}
	for _, name := range []string{"env", "nice", "timeout", "nohup", "xargs", "sh", "bash"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(s.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func (s *sandbox) stub(t testing.TB, dir, name string) {
	script := "#!/bin/sh\necho " + name + " >>" + s.log + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// started runs a text and returns the programs that it started.
func (s *sandbox) started(t testing.TB, shell, text string) []string {
	dir := t.TempDir()
	s.stub(t, dir, "terraform")
	if err := os.WriteFile(s.log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	// Little time, small files, few of them; the group ends with its leader.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `ulimit -t 1; ulimit -f 64; ulimit -n 64; exec "$@"`, "limited", shell, "-c", text)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + s.bin, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		t.Fatal(err)
	}
	s.settle(cmd.Process.Pid)
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(log))
}

// settle waits for what was left in the background, and ends what does not end.
func (s *sandbox) settle(group int) {
	for range 100 {
		if syscall.Kill(-group, 0) != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
}

func execRow(id string, effect policy.Effect, pattern string) policy.Row {
	return policy.Row{ID: id, AgentID: "main", ResourceType: policy.TypeExec, ResourceKey: pattern, Effect: effect, Grants: []policy.Grant{policy.Any()}}
}

// FuzzCommandStarts lets real shells run texts: no program starts that a row asks
// about or denies, nor one beside those that rows allow, without the verdict
// having been another than allow.
func FuzzCommandStarts(f *testing.F) {
	for _, text := range []string{
		"terraform apply", "\"terraform\" apply", "terra\\form apply", "./terraform apply", "good | terraform", "env terraform apply",
		"timeout 5 terraform apply", "sh -c 'terraform apply'", "eval 'terraform apply'", "$(echo terraform)", "`echo terraform`", "g() { terraform; }; g ",
		"x=terraform; $x", "echo 'terraform' | sh", "sh << E\nterraform\nE\n", "echo 'terraform' > f ; sh ./f ", "echo 'terraform' > f ; . ./f ",
		"trap 'terraform' EXIT", "alias g=terraform\ng ", "exec terraform", "if true ; then terraform; fi", "[[ a && terraform ]]", "good <(terraform)",
		"terra\\\nform", "good & terraform", "command terraform", "xargs terraform", "echo terraform | xargs ", "good # terraform", "good; good", "t*m", "./t?rraform",
		"PATH=. terraform", "case a in a ) terraform;; esac", "{ terraform; }", "(terraform)", "! terraform", "time terraform", "coproc terraform",
		"test -v 'a[$(terraform)]'", "PS4='$(terraform)'; set -x ; good", "hash -p ./terraform good; good", "for x in terraform; do $x; done", "{terraform,apply}",
		"shopt -s expand_aliases\nalias g=terraform\ng ", "function g { terraform; }; g ", "echo 'terraform' > f ; ENV=f sh -c 'good'", "nice -n 1 nohup terraform",
	} {
		f.Add(bytesOf(f, text))
	}
	s := newSandbox(f)
	if got := s.started(f, "/bin/sh", "env sh -c 'terraform; ./terraform'; good"); !slices.Equal(got, []string{"terraform", "terraform", "good"}) {
		f.Fatalf("the stubs recorded %v", got)
	}
	all := []policy.Grant{policy.Any()}
	sets := map[string]*policy.Set{}
	for name, rows := range map[string][]policy.Row{
		"a denied program":      {execRow("a", policy.Allow, "*"), execRow("b", policy.Deny, "terraform *")},
		"a program asked about": {execRow("a", policy.Allow, "*"), execRow("b", policy.RequireApproval, "terraform *")},
		"a program not allowed": {execRow("a", policy.Allow, "good *"), execRow("b", policy.Allow, "echo *"), execRow("c", policy.Allow, "true *"), execRow("d", policy.Allow, "apply *"),
			execRow("e", policy.Allow, "sh *"), execRow("f", policy.Allow, "eval *"), execRow("g", policy.Deny, "terraform *")},
		"a program of the rest": {execRow("a", policy.Allow, "good *"), execRow("b", policy.Allow, "echo *"), execRow("c", policy.Allow, "apply *"), execRow("d", policy.RequireApproval, "*")},
	} {
		rows[0].Grants = all
		set, err := policy.Compile("main", rows, policy.Options{DefaultGrants: policy.BuiltinGrants})
		if err != nil {
			f.Fatal(err)
		}
		sets[name] = set
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := textOf(data)
		for _, shell := range []string{"/bin/sh", "/bin/bash"} {
			if _, err := os.Stat(shell); err != nil {
				continue
			}
			if !slices.Contains(s.started(t, shell, text), "terraform") {
				continue
			}
			for name, set := range sets {
				req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch", Resources: []policy.Resource{command(text, "/srv")}}
				if r := set.Evaluate(req); r.Decision == policy.Allow {
					t.Errorf("%s: %s starts terraform for %q, which was allowed: %+v", name, shell, text, r)
				}
			}
		}
	})
}
