// Package engines puts holm/policy beside three known policy engines: the same
// rules, the same requests, one run. It owns the translation of the rules into
// each engine's own language and nothing of Holm; it is a module of its own, so
// that those engines never become dependencies of Holm.
//
// Every engine is set up as well as it reasonably gets: one policy for each agent,
// requests in the engine's native form before the clock starts, prepared queries,
// and an index by agent and tool around or inside the engine. docs/performance.md
// has the figures.
package engines
