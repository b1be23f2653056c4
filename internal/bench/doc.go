// Package bench measures whole paths through Holm beside a reference measured in
// the same run: a call through the gateway beside the direct call and a plain
// reverse proxy, the check of an access key that was seen before, asking, deciding
// and waking beside bare statements, a hundred taps at once on fake platforms, and
// a million finished requests beside none. It has
// benchmarks only. What is measured within one package has its benchmark there;
// the comparison with other policy engines is the module in engines.
//
// docs/performance.md keeps the figures and tells how to repeat them.
package bench
