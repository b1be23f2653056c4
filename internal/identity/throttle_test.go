package identity

import (
	"fmt"
	"testing"
	"time"
)

// An address recovers under a wrong key that comes every second, also when its
// allowance was used up before.
func TestThrottleRecoversUnderOneWrongKey(t *testing.T) {
	th, now := newThrottle(), time.Now()
	for i := range 50 {
		th.count("office", []byte(fmt.Sprint("guess ", i)), now)
	}
	if left := th.byAddr["office"].pace.TokensAt(now); left >= 1 {
		t.Fatalf("%.1f left after guessing", left)
	}
	for range 600 {
		now = now.Add(time.Second)
		th.count("office", []byte("the old key"), now)
	}
	if left := th.byAddr["office"].pace.TokensAt(now); left < wrongAtOnce-1 {
		t.Errorf("%.1f left after ten minutes", left)
	}
	if th.refused("office", []byte("the old key"), now.Add(lookAgain)) {
		t.Error("the key is never looked at again")
	}
	if th.refused("elsewhere", []byte("the old key"), now) {
		t.Error("it counts for another address")
	}
}
