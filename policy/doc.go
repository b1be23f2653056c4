// Package policy answers one question: may this principal do this to this
// resource? It owns the rows' meaning: their validation, how they match a call
// and its arguments, and the order in which they decide.
//
// The package is pure. [Compile] turns an agent's rows into an immutable [Set];
// [Set.Evaluate] does no I/O, reads no clock and takes no lock, so one set may
// serve any number of goroutines and is replaced as a whole when a row changes.
// Storing rows and swapping sets is left to policy/rulestore, asking a person to
// package approvals, and the words of an answer to the gateway.
//
// This slice decides the tool layer: rows of the types tool and mcp. Rows of the
// types file and exec are validated, completed and kept in the set, and take no
// part in a decision yet.
package policy
