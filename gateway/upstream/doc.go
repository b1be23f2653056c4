// Package upstream speaks to the MCP servers behind the gateway. It owns one
// supervised connection per server (a child process on stdio, or a Streamable
// HTTP session), its handshake, its list of tools and the calls on it. What a
// server sends travels on as the bytes it sent: results, tool objects and
// progress are never decoded and encoded again.
//
// It leaves to others who may call what (policy), the names under which tools
// are shown (the catalogue), and the form in which a failure reaches a client.
package upstream
