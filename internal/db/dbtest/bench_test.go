package dbtest_test

import (
	"testing"

	"holm/internal/db/dbtest"
)

// What a test pays for its database. A template that is not made yet costs the first one more.

func BenchmarkURL(b *testing.B) {
	for b.Loop() {
		dbtest.URL(b)
	}
}

func BenchmarkTx(b *testing.B) {
	for b.Loop() {
		dbtest.Tx(b)
	}
}
