package engines

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain keeps a run of five counts within a few minutes: some engines need a
// tenth of a second for one decision, and the usual second for each measurement
// would not make the ratios better.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.benchtime" })
	if !given {
		if err := flag.Set("test.benchtime", "300ms"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
