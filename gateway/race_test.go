//go:build race

package gateway_test

// raceEnabled spares the race detector the largest loads: it makes them ten
// times slower, and sees the same accesses in smaller ones.
const raceEnabled = true
