package stamp_test

import (
	"testing"
	"time"

	"holm/internal/stamp"
)

func TestTimesAreUTC(t *testing.T) {
	at := time.Date(2026, 3, 4, 1, 2, 3, 0, time.FixedZone("east", 5*60*60))
	for got, want := range map[string]string{
		stamp.Minute(at): "2026-03-03 20:02 UTC", stamp.Second(at): "2026-03-03 20:02:03 UTC", stamp.Clock(at): "20:02:03 UTC",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
