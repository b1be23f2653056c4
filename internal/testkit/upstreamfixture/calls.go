package upstreamfixture

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

// ExactResult is what the tool exact answers, byte for byte.
const ExactResult = `{"zeta":{"b":1,"a":2},"content":[{"type":"hologram","x":1e2,"y":1.0},{"type":"text","text":"<&>\u003c é","annotations":{}}], "structuredContent":{"big":9007199254740993,"huge":123456789012345678901234567890,"nothing":null,"zero":0},"_meta":{"ui":"ui://thing","n":9007199254740993}}`

// ExactPrompt is what prompts/get answers, byte for byte.
const ExactPrompt = `{"messages":[ ],"odd":1.0}`

// call is the params of tools/call.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}

func join(all []string) string { return strings.Join(all, ",") }

func letters(n int) string { return strings.Repeat("x", n) }

func (c *core) call(p *peer, m incoming) {
	var req call
	_ = json.Unmarshal(m.Params, &req)
	if c.is(StderrFlood) {
		flood()
	}
	switch {
	case c.is(BlackHole), c.is(DeafCalls):
		return
	case c.is(CrashMidCall):
		crash(p, m)
	case c.is(NoResult):
		p.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `}`)
	case c.is(NullResult):
		p.send(result(m.ID, `null`))
	case c.is(EmptyResult):
		p.send(result(m.ID, `{}`))
	case c.is(BothAnswers):
		p.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + text("ok") + `,"error":{"code":1,"message":"no"}}`)
	default:
		c.run(p, m, req)
	}
}

func (c *core) run(p *peer, m incoming, req call) {
	switch req.Name {
	case "echo", "routed":
		p.send(result(m.ID, `{"content":[],"structuredContent":`+string(req.Arguments)+`}`))
	case "record":
		appendLine(c.opts.Log, req.Arguments)
		p.send(result(m.ID, text("recorded")))
	case "slow":
		c.slow(p, m, req)
	case "big":
		p.send(result(m.ID, text(letters(argument(req, "bytes")))))
	case "fail":
		p.send(failure(m.ID, "-32050", "it failed on purpose"))
	case "crash":
		crash(p, m)
	case "exact":
		p.send(result(m.ID, ExactResult))
	case "environment":
		env := os.Environ()
		sort.Strings(env)
		p.send(result(m.ID, text(strings.Join(env, "\n"))))
	default:
		c.runStateful(p, m, req)
	}
}

func (c *core) runStateful(p *peer, m incoming, req call) {
	switch req.Name {
	case "login":
		p.mu.Lock()
		p.user = string(req.Arguments)
		p.mu.Unlock()
		p.send(result(m.ID, text("welcome")))
	case "whoami":
		p.mu.Lock()
		user := p.user
		p.mu.Unlock()
		p.send(result(m.ID, text(user)))
	case "change":
		c.mu.Lock()
		c.added = true
		c.mu.Unlock()
		p.notify(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.send(result(m.ID, text("changed")))
	case "update":
		p.notify(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///x","big":9007199254740993}}`)
		p.send(result(m.ID, text("updated")))
	case "ask":
		ask(p, m)
	default:
		p.send(failure(m.ID, "-32602", "unknown tool"))
	}
}

// argument is a whole number among the arguments.
func argument(req call, name string) int {
	var all map[string]any
	_ = json.Unmarshal(req.Arguments, &all)
	n, _ := all[name].(float64)
	return int(n)
}

// slow reports progress, waits, and stops early when it is cancelled.
func (c *core) slow(p *peer, m incoming, req call) {
	stop := make(chan struct{})
	p.mu.Lock()
	p.cancels[string(m.ID)] = stop
	p.mu.Unlock()
	steps := max(1, argument(req, "progress"))
	for step := 1; step <= steps; step++ {
		select {
		case <-stop:
			appendLine(c.opts.Log, []byte("cancelled"))
			return
		case <-time.After(time.Duration(argument(req, "ms")/steps) * time.Millisecond):
		}
		if req.Meta.ProgressToken != nil {
			p.send(progress(req.Meta.ProgressToken, step, steps))
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"almost done"}}`)
	p.send(result(m.ID, text("done")))
	if c.is(LateProgress) {
		p.send(progress(req.Meta.ProgressToken, steps+1, steps))
		p.send(progress(json.RawMessage(`"foreign"`), 1, 1))
		p.send(progress(json.RawMessage(`17`), 1, 1))
	}
}

func progress(token json.RawMessage, step, steps int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d,"progressToken":%s,"total":%d,"big":9007199254740993}}`, step, token, steps)
}

// ask sends requests of its own and answers when all of them were answered.
func ask(p *peer, m incoming) {
	for i, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
		id := fmt.Sprintf("ask-%s-%d", strings.Trim(string(m.ID), `"`), i)
		answered := make(chan struct{})
		p.mu.Lock()
		p.answers[id] = answered
		p.mu.Unlock()
		p.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":{}}`)
		<-answered
	}
	p.send(result(m.ID, text("all answered")))
}

// crash ends the process in the middle of an answer.
func crash(p *peer, m incoming) {
	p.notify(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[{"type":"te`)
	os.Exit(3)
}

// flood writes a mebibyte to stderr, which blocks when nobody reads it.
func flood() {
	line := []byte(strings.Repeat("e", 127) + "\n")
	for range 8 << 10 {
		_, _ = os.Stderr.Write(line)
	}
}
