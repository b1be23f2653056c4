package upstreamfixture

import (
	"encoding/json"
	"time"
)

const (
	serverInfo   = `{"name":"fixture","version":"1.0","unknownField":{"z":1,"a":9007199254740993}}`
	capabilities = `{"tools":{"listChanged":true},"logging":{}}`
)

func (c *core) initialize(p *peer, m incoming) {
	if c.is(SilentStart) {
		return
	}
	if c.is(SlowStart) {
		time.Sleep(time.Second)
	}
	if c.is(Modern) {
		p.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`)
		return
	}
	version := "2025-06-18"
	if c.is(UnknownVersion) {
		version = "1999-01-01"
	}
	p.send(result(m.ID, `{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"serverInfo":`+serverInfo+`}`))
}

func (c *core) discover(m incoming) string {
	if !c.is(Modern) {
		return failure(m.ID, "-32601", "method not found")
	}
	return result(m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":`+
		capabilities+`,"_meta":{"io.modelcontextprotocol/serverInfo":`+serverInfo+`}}`)
}

// plain are the tool objects as they go over the wire, odd members included.
var plain = []string{
	tool("echo"), tool("record"), tool("slow"), tool("big"), tool("fail"), tool("crash"), tool("login"),
	tool("whoami"), tool("environment"), tool("change"), tool("ask"), tool("routed"), tool("update"),
	`{"zzz":1,"name":"exact","description":"<b>&</b>","inputSchema":{"type":"object","$defs":{"n":{"anyOf":[{"type":"null"},{"const":9007199254740993}]}},"properties":{"b":{"$ref":"#/$defs/n"},"a":{"type":"number","default":1.0}}},"execution":{"taskSupport":"optional"},"securitySchemes":[ ],"_meta":{"big":123456789012345678901234567890}}`,
}

func tool(name string) string {
	schema := `{"type":"object"}`
	if name == "routed" {
		schema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`
	}
	return `{"name":"` + name + `","description":"tool ` + name + ` of the fixture","inputSchema":` + schema + `}`
}

// PlainTools are the raw tool objects of a fixture without modes, in order.
func PlainTools() []string { return append([]string(nil), plain...) }

func (c *core) tools() []string {
	all := PlainTools()
	if c.is(BadSchema) {
		all = append([]string{`{"name":"broken","inputSchema":"no schema"}`, `{"description":"has no name"}`, `7`,
			`{"name":"ec\u0000ho"}`, `{"name":"two\nlines"}`, all[0]}, all...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.added {
		all = append(all, tool("added"))
	}
	return all
}

// list renders a page of the tools list.
func (c *core) list(params json.RawMessage) string {
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(params, &p)
	switch {
	case c.is(Paged):
		return c.page(len(p.Cursor))
	case c.is(EndlessCursor):
		return `{"tools":[` + plain[0] + `],"nextCursor":"again"}`
	case c.is(GrowingCursor):
		return `{"tools":[` + plain[0] + `],"nextCursor":"` + p.Cursor + `x"}`
	}
	return `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` + join(c.tools()) + `]}`
}

// page is the n-th page of one tool each; the cursor is n letters long.
func (c *core) page(n int) string {
	all := c.tools()
	next := ""
	if n+1 < len(all) {
		next = `,"nextCursor":"` + letters(n+1) + `"`
	}
	return `{"tools":[` + all[min(n, len(all)-1)] + `]` + next + `}`
}
