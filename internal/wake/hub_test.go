package wake_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
	"holm/internal/wake"
)

func TestPublishWakesTheWaitersOfItsKeyHere(t *testing.T) {
	hub := newHub(dbtest.DB(t))
	both, other := hub.Wait("a", "b"), hub.Wait("c")
	defer both.Close()
	defer other.Close()

	hub.Publish("b")
	rings(t, both, "its second key")
	silent(t, other, "another key")

	hub.Publish("a", "b")
	hub.WakeLocal("a")
	rings(t, both, "both keys")
	silent(t, both, "a publication that it heard of already")
}

func TestAClosedWaiterHearsNothing(t *testing.T) {
	hub := newHub(dbtest.DB(t))
	w, stays := hub.Wait("a", "a"), hub.Wait("a")
	defer stays.Close()
	w.Close()
	w.Close()
	hub.Publish("a")
	rings(t, stays, "its key, after a neighbour closed")
	silent(t, w, "a key it has left")
}

func TestPublishWakesOtherProcesses(t *testing.T) {
	pool := dbtest.DB(t)
	here, _ := running(t, pool)
	there, _ := running(t, pool)
	w, bystander := there.Wait("a"), there.Wait("b")
	defer w.Close()
	defer bystander.Close()

	here.Publish("a")
	rings(t, w, "another process")
	silent(t, bystander, "another key")
}

func TestALocalWakeStaysLocal(t *testing.T) {
	pool := dbtest.DB(t)
	here, _ := running(t, pool)
	there, _ := running(t, pool)
	w, last := there.Wait("a"), there.Wait("z")
	defer w.Close()
	defer last.Close()

	here.WakeLocal("a")
	here.Publish("z")
	rings(t, last, "the notice after it")
	silent(t, w, "a local wake elsewhere")
}

// A process hears its own notices and must not wake twice for them.
func TestOwnNoticesWakeOnce(t *testing.T) {
	pool := dbtest.DB(t)
	here, _ := running(t, pool)
	there, _ := running(t, pool)
	own, answer := here.Wait("a"), here.Wait("z")
	defer own.Close()
	defer answer.Close()

	here.Publish("a")
	rings(t, own, "its own publication")
	there.Publish("z")
	rings(t, answer, "the other process")
	silent(t, own, "the notice of its own publication")
}

func TestManyAndLongKeysAreSplitOverNotices(t *testing.T) {
	pool := dbtest.DB(t)
	here, _ := running(t, pool)
	there, _ := running(t, pool)

	keys := make([]string, 0, 300)
	for i := range 300 {
		keys = append(keys, fmt.Sprintf("%03d-%s", i, strings.Repeat("k", i)))
	}
	keys = append(keys, strings.Repeat("l", 7490))
	var waiters []*wake.Waiter
	for _, key := range keys {
		w := there.Wait(key)
		defer w.Close()
		waiters = append(waiters, w)
	}
	here.Publish(keys...)
	for i, w := range waiters {
		rings(t, w, "key "+keys[i][:3])
	}
}

// A key that fits no notice costs its own wake-up and no other.
func TestAnOversizedKeyHarmsNoOther(t *testing.T) {
	pool := dbtest.DB(t)
	here, _ := running(t, pool)
	there, _ := running(t, pool)
	w := there.Wait("small")
	defer w.Close()
	here.Publish(strings.Repeat("x", 9000), "small")
	rings(t, w, "the key that fits")
}

// Publish must not wait for the database: here its only connection is taken.
func TestPublishNeverBlocks(t *testing.T) {
	pool := dbtest.DB(t)
	config := pool.Config().Copy()
	config.MaxConns = 1
	narrow, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer narrow.Close()
	here, end := running(t, narrow)
	defer end()
	taken, err := narrow.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		here.Publish(fmt.Sprint("key", i))
	}

	there, _ := running(t, pool)
	w := there.Wait("key9999")
	defer w.Close()
	taken.Release()
	rings(t, w, "a key that waited for the connection")
}
