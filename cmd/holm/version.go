package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = "dev"

func (c *cli) newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show which Holm this is", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := struct {
				Version string `json:"version"`
				Commit  string `json:"commit,omitempty"`
				Go      string `json:"go"`
				System  string `json:"system"`
			}{version, commit(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return c.print(cmd, info, func(w io.Writer) {
				fmt.Fprintf(w, "holm %s (%s, %s)\n", info.Version, info.Go, info.System)
			})
		},
	}
}

// commit is the revision that was built, when the build knows it.
func commit() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
