// Command holm is the whole of Holm in one binary: the server (serve, demo,
// migrate) and the command line that manages it through its REST interface.
// Each group of commands has a file; what they do belongs to the packages they
// call.
package main

import (
	"context"
	"io"
	"os"

	_ "time/tzdata" // people name their time zone; an image may know none
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is one call of holm; it gives the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(expandArgs(args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	return report(errOut, err, wantsJSON(root, args, err))
}
