package policy_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holm/policy"
)

// TestCorpus runs the cases of testdata; testdata/README.md tells how to read
// and write them.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	cases := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			cases += runArchive(t, archive)
		})
	}
	if cases < 600 {
		t.Errorf("the corpus has %d cases, want at least 600", cases)
	}
}

// corpus is what the sections of a file have set up so far.
type corpus struct {
	rows    []policy.Row
	tools   []policy.ToolInfo
	servers []string
	people  []policy.Principal
	opts    policy.Options
	set     *policy.Set // of these rows; nil until a case needs it
}

func (c *corpus) world() policy.World {
	return policy.World{Tools: c.tools, Servers: c.servers, People: c.people}
}

func runArchive(t *testing.T, archive *txtar.Archive) int {
	c := &corpus{opts: policy.Options{DefaultGrants: policy.BuiltinGrants}}
	cases := 0
	for _, section := range archive.Files {
		lines := linesOf(section.Data)
		switch section.Name {
		case "rows":
			c.rows, c.set = parseRows(t, lines), nil
		case "tools":
			c.tools = parseTools(lines)
		case "servers":
			c.servers = lines
		case "people":
			c.people = nil
			for _, line := range lines {
				c.people = append(c.people, parsePrincipal(line))
			}
		case "default":
			c.opts.Default, c.set = policy.Effect(lines[0]), nil
		default:
			check, ok := corpusChecks[section.Name]
			if !ok {
				t.Fatalf("unknown section %q", section.Name)
			}
			for _, line := range lines {
				input, want, ok := strings.Cut(line, " => ")
				if !ok {
					t.Fatalf("no => in %q", line)
				}
				cases++
				if got := check(t, c, strings.TrimSpace(input)); !agrees(section.Name, got, want) {
					t.Errorf("%s: %s\n got %s\nwant %s", section.Name, input, got, want)
				}
			}
		}
	}
	return cases
}

// agrees compares a decision as a whole, and an error by a part of it.
func agrees(section, got, want string) bool {
	switch section {
	case "cases", "listed", "each", "settings", "capable", "kept":
		return got == want
	}
	return strings.Contains(got, want)
}

var corpusChecks = map[string]func(*testing.T, *corpus, string) string{
	"cases":          checkCase,
	"each":           checkEach,
	"settings":       checkSettings,
	"listed":         checkListed,
	"capable":        checkCapable,
	"lint":           checkLint,
	"kept":           checkKept,
	"explained":      checkExplained,
	"problems":       checkProblem,
	"refused scopes": checkScope,
	"refused rows":   checkRow,
	"refused args":   checkArgs,
}

func linesOf(data []byte) []string {
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func parseRows(t *testing.T, lines []string) []policy.Row {
	var rows []policy.Row
	for _, line := range lines {
		row, err := parseRow(line)
		if err != nil {
			t.Fatalf("row %q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

var digestCall = regexp.MustCompile(`digest\((.*?)\)`)

// parseRow reads ID EFFECT TYPE KEY GRANTS [SCOPE]. An ID with a + before it is a
// row that an approval left. digest({...}) stands for the digest of arguments. A
// scope that cannot be read makes the row unreadable, as in a store.
func parseRow(line string) (policy.Row, error) {
	words := strings.SplitN(line, " ", 6)
	if len(words) < 5 {
		return policy.Row{}, errors.New("want ID EFFECT TYPE KEY GRANTS [SCOPE]")
	}
	row := policy.Row{
		ID: strings.TrimPrefix(words[0], "+"), AgentID: "main", Effect: policy.Effect(words[1]),
		ResourceType: words[2], ResourceKey: words[3], Grants: parseGrants(words[4]),
	}
	if words[0] != row.ID {
		row.Origin = policy.OriginApproval
	}
	if len(words) == 6 {
		scope := digestCall.ReplaceAllStringFunc(words[5], func(call string) string {
			args, _ := policy.ParseArgs(json.RawMessage(digestCall.FindStringSubmatch(call)[1]))
			return `"` + policy.ArgsDigest(args) + `"`
		})
		row.Scope, row.Unreadable = policy.ParseScope(row.ResourceType, json.RawMessage(scope))
	}
	return row, nil
}

func parseGrants(text string) []policy.Grant {
	var grants []policy.Grant
	if text == "nobody" {
		return grants
	}
	for one := range strings.SplitSeq(text, ",") {
		kind, value, _ := strings.Cut(one, ":")
		grants = append(grants, policy.Grant{Type: policy.GrantKind(kind), Value: value})
	}
	return grants
}

// parsePrincipal reads "key", "ann" (no role), "owner:ann" or
// "user:bob+family+work".
func parsePrincipal(text string) policy.Principal {
	p := policy.Principal{AgentID: "main"}
	if text == "key" {
		return p
	}
	if text == "stranger" {
		return policy.Principal{AgentID: "other", UserID: "ann", Role: policy.Owner}
	}
	labels := strings.Split(text, "+")
	p.Circles = labels[1:]
	role, user, found := strings.Cut(labels[0], ":")
	if !found {
		role, user = "", labels[0]
	}
	p.Role, p.UserID = policy.Role(role), user
	return p
}

// parseRequest reads PRINCIPAL TOOL[@SERVER] [ARGS] [~ RESOURCE]...
func parseRequest(t *testing.T, text string) policy.Request {
	parts := strings.Split(text, " ~ ")
	words := strings.SplitN(parts[0], " ", 3)
	if len(words) < 2 {
		t.Fatalf("want PRINCIPAL TOOL [ARGS] in %q", text)
	}
	req := policy.Request{Principal: parsePrincipal(words[0])}
	req.Tool, req.Server, _ = strings.Cut(words[1], "@")
	if len(words) == 3 {
		args, err := policy.ParseArgs(json.RawMessage(words[2]))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		req.Args = args
	}
	for _, part := range parts[1:] {
		req.Resources = append(req.Resources, parseResource(t, part))
	}
	return req
}

// parseResource reads read[@SANDBOX] PATH, write[@SANDBOX] PATH or
// exec[@SANDBOX][:CWD] COMMAND. A path or command may be quoted as in Go; ?ARG in
// its place is one that the call does not carry, !TEXT one that cannot be read.
func parseResource(t *testing.T, text string) policy.Resource {
	what, value, _ := strings.Cut(text, " ")
	if strings.HasPrefix(value, `"`) {
		var err error
		if value, err = strconv.Unquote(value); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	what, cwd, _ := strings.Cut(what, ":")
	kind, sandbox, _ := strings.Cut(what, "@")
	r := policy.Resource{Type: policy.TypeFile, Sandbox: sandbox, Mode: kind, Path: value}
	if kind == "exec" {
		r = policy.Resource{Type: policy.TypeExec, Sandbox: sandbox, Command: value, CWD: cwd}
	}
	if arg, ok := strings.CutPrefix(value, "?"); ok {
		r.Path, r.Command, r.Missing = "", "", arg
	} else if why, ok := strings.CutPrefix(value, "!"); ok {
		r.Path, r.Command, r.Unreadable = "", "", errors.New(why)
	}
	return r
}

func (c *corpus) compile(t *testing.T) *policy.Set {
	if c.set == nil {
		set, err := policy.Compile("main", c.rows, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		c.set = set
	}
	return c.set
}

func checkCase(t *testing.T, c *corpus, input string) string {
	return inShort(c.compile(t).Evaluate(parseRequest(t, input)))
}

func inShort(r policy.Result) string {
	got := string(r.Decision) + " " + r.Step.String()
	if r.Declared {
		got += " declared"
	}
	if r.Rule != nil {
		got += " " + r.Rule.ID
	}
	if r.Layer != policy.LayerTool {
		got += " in " + string(r.Layer)
	}
	return got
}

// checkEach gives what each layer says for itself.
func checkEach(t *testing.T, c *corpus, input string) string {
	var parts []string
	for _, r := range c.compile(t).EvaluateEach(parseRequest(t, input)) {
		parts = append(parts, inShort(r))
	}
	return strings.Join(parts, "; ")
}

func checkSettings(t *testing.T, c *corpus, input string) string {
	settings, err := json.Marshal(c.compile(t).Evaluate(parseRequest(t, input)).Settings)
	if err != nil {
		t.Fatal(err)
	}
	return string(settings)
}

// parseTools reads NAME[@SERVER] [SCHEMA].
func parseTools(lines []string) []policy.ToolInfo {
	var tools []policy.ToolInfo
	for _, line := range lines {
		name, schema, _ := strings.Cut(line, " ")
		info := policy.ToolInfo{InputSchema: json.RawMessage(schema)}
		info.Name, info.Server, _ = strings.Cut(name, "@")
		tools = append(tools, info)
	}
	return tools
}

func checkCapable(t *testing.T, c *corpus, input string) string {
	var tools []policy.Tool
	for _, info := range c.tools {
		tools = append(tools, info.Tool)
	}
	return orNothing(strings.Join(c.compile(t).Capabilities(parsePrincipal(input), tools), " "))
}

// checkLint gives all findings about a row.
func checkLint(_ *testing.T, c *corpus, input string) string {
	var found []string
	for _, f := range policy.Lint(c.rows, c.world()) {
		if f.RowID == input {
			found = append(found, string(f.Code)+": "+f.Message)
		}
	}
	return orNothing(strings.Join(found, " | "))
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

func checkKept(t *testing.T, c *corpus, input string) string {
	row, err := parseRow(input)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, r := range policy.KeepDefaults(c.rows, row) {
		if err := r.Validate(); err != nil || r.AgentID != "main" {
			t.Errorf("%+v: %v", r, err)
		}
		text := string(r.Effect) + " " + r.ResourceKey
		for _, g := range r.Grants {
			text += " " + g.String()
		}
		kept = append(kept, text)
	}
	return orNothing(strings.Join(kept, ", "))
}

func checkListed(t *testing.T, c *corpus, input string) string {
	req := parseRequest(t, input)
	if c.compile(t).Listed(req.Principal, req.Tool, req.Server) {
		return "yes"
	}
	return "no"
}

func checkExplained(t *testing.T, c *corpus, input string) string {
	e := c.compile(t).Explain(parseRequest(t, input))
	text := e.String()
	for _, r := range append(e.Reasons, e.Near...) {
		text += " | " + r.RowID + ": " + r.Why
	}
	return text
}

func checkProblem(t *testing.T, c *corpus, input string) string {
	for _, p := range c.compile(t).Problems() {
		if p.RowID == input {
			return p.Err.Error()
		}
	}
	return "no problem"
}

func checkScope(t *testing.T, _ *corpus, input string) string {
	kind, scope, _ := strings.Cut(input, " ")
	_, err := policy.ParseScope(kind, json.RawMessage(scope))
	return refusal(t, err)
}

func checkRow(t *testing.T, _ *corpus, input string) string {
	row, err := parseRow(input)
	if err != nil {
		t.Fatal(err)
	}
	return refusal(t, row.Validate())
}

func checkArgs(t *testing.T, _ *corpus, input string) string {
	_, err := policy.ParseArgs(json.RawMessage(input))
	return refusal(t, err)
}

func refusal(t *testing.T, err error) string {
	if err == nil {
		return "accepted"
	}
	var invalid *policy.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("%T is no InvalidError: %v", err, err)
	}
	return err.Error()
}
