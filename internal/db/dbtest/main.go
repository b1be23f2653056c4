package dbtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main is a TestMain for packages that check for leaked goroutines:
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
// It runs the tests, ends the test server and fails when a goroutine is left. Packages that do not
// check need no TestMain; the server ends with the test process in any case.
func Main(m *testing.M) {
	// Tests with a database wait more than they work: more of them run at one time
	// than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "dbtest: stop server:", err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "dbtest: goroutines left:", err)
		code = 1
	}
	os.Exit(code)
}

// IgnoreServer makes goleak overlook the goroutines of the test server, which outlives a test.
func IgnoreServer() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("holm/internal/db/embedded.(*process).own"),
		goleak.IgnoreAnyFunction("holm/internal/db/embedded.(*serverLog).Write"),
		goleak.IgnoreAnyFunction("os/exec.(*Cmd).Start.func2"),
	}
}

func stop() error {
	if shared == nil || shared.own == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return shared.own.Stop(ctx)
}
