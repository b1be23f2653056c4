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
// A decision has layers. The tool layer (rows of the types tool and mcp) says
// whether the tool may be called at all; a layer for each file and command that
// the call reaches (rows of the types file and exec) is added where rows have
// something to say. The strictest wins.
package policy
