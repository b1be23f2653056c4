// Package upstreamfixture is an MCP server for tests: well-behaved by default,
// with the faults of real servers as modes. It writes JSON-RPC by hand, so that
// what a test sees upstream are the bytes that arrived, and what comes back are
// the bytes written here.
//
// It runs as a child process (Main, or the command in cmd/holm-fixture) and as
// an http.Handler (NewHTTP). It depends on nothing else of Holm.
//
// Tools: echo (returns its arguments), record (appends the raw arguments as one
// line to the file in FIXTURE_LOG), slow ({"ms":n,"progress":n}), big
// ({"bytes":n}), fail, crash, exact (a result no SDK would carry), login and
// whoami (state of a session), environment, change (adds the tool "added"), update (notifies of a resource), ask
// (sends requests of its own and waits for their answers).
package upstreamfixture
