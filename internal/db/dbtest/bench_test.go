package dbtest_test

import (
	"testing"

	"holm/internal/db/dbtest"
)

// BenchmarkURL is what a test pays for its database, after the first one.
func BenchmarkURL(b *testing.B) {
	for b.Loop() {
		dbtest.URL(b)
	}
}
