// Package e2e tests the real binary from outside, against strict fakes of the
// chat platforms and real MCP servers. It has no code of its own.
package e2e
