//go:build unix

package engines

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"holm/policy"
)

// samples is how many different calls a measurement goes through in turn, so that
// no engine lives from one warm path.
const samples = 512

// The ratios compare processor time, garbage collection included, and not the
// clock: other programs on the machine then disturb them less.

// BenchmarkDecide measures one decision of each engine. Its ratio says how many
// times as long as Holm's it takes, by the lowest of Holm's runs.
func BenchmarkDecide(b *testing.B) {
	for _, d := range datasets {
		b.Run(fmt.Sprintf("rows=%d/agents=%d", d.rows, d.agents), func(b *testing.B) {
			rules, requests := makeRules(d.rows, d.agents), makeRequests(samples, d.rows, d.agents)
			var reference []float64
			for _, c := range contestants {
				if c.linear && d.agents > 1 {
					continue
				}
				calls := prepared(b, c, rules, requests)
				b.Run(c.name, func(b *testing.B) {
					reference = report(b, c, decideAll(b, calls), reference)
				})
			}
		})
	}
}

func prepared(b *testing.B, c contestant, rules []rule, requests []request) []func() (policy.Effect, error) {
	e, err := c.build(rules)
	if err != nil {
		b.Fatal(err)
	}
	calls := make([]func() (policy.Effect, error), len(requests))
	for i, q := range requests {
		if calls[i], err = e.prepare(q); err != nil {
			b.Fatal(err)
		}
	}
	return calls
}

// report prints the processor time of one operation and its ratio to Holm's, and
// adds Holm's own to the reference.
func report(b *testing.B, c contestant, spent time.Duration, reference []float64) []float64 {
	each := float64(spent.Nanoseconds()) / float64(b.N)
	b.ReportMetric(each, "cpu-ns/op")
	if c.name == "holm" {
		reference = append(reference, each)
	}
	if len(reference) > 0 {
		b.ReportMetric(each/slices.Min(reference), "x-holm")
	}
	return reference
}

// decideAll gives the processor time of b.N calls.
func decideAll(b *testing.B, calls []func() (policy.Effect, error)) time.Duration {
	runtime.GC()
	b.ReportAllocs()
	before := processorTime(b)
	for i := 0; b.Loop(); i++ {
		if _, err := calls[i%len(calls)](); err != nil {
			b.Fatal(err)
		}
	}
	return processorTime(b) - before
}

// BenchmarkBuild measures how long each engine takes over 100,000 rules of one
// agent, from the neutral form, and what it then keeps.
func BenchmarkBuild(b *testing.B) {
	const rows = 100_000
	rules := makeRules(rows, 1)
	var reference []float64
	for _, c := range contestants {
		b.Run(fmt.Sprintf("rows=%d/%s", rows, c.name), func(b *testing.B) {
			spent, kept := buildAll(b, c, rules)
			reference = report(b, c, spent, reference)
			b.ReportMetric(kept, "MB-kept")
		})
	}
}

func buildAll(b *testing.B, c contestant, rules []rule) (spent time.Duration, kept float64) {
	var e engine
	memory, before := heap(), processorTime(b)
	for b.Loop() {
		var err error
		if e, err = c.build(rules); err != nil {
			b.Fatal(err)
		}
	}
	spent = processorTime(b) - before
	kept = (heap() - memory) / 1e6
	runtime.KeepAlive(e)
	runtime.KeepAlive(rules)
	return spent, kept
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
