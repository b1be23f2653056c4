package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// bare are the goroutines that package caught does not start, with the reason.
var bare = map[string]string{
	"internal/caught/caught.go":       "it is the place",
	"channels/console/run.go":         "reads lines of the operator's own terminal",
	"cmd/holm/app.go":                 "the server, whose handlers are guarded, and the wait for the end of the database",
	"cmd/holm/demo.go":                "the demonstration",
	"cmd/holm/guard.go":               "a command that ends with its program",
	"cmd/holm/watch.go":               "a command at a terminal",
	"cmd/holm/watchanswer.go":         "a command at a terminal",
	"internal/db/embedded/process.go": "waits for a child",
	"gateway/upstream/process.go":     "waits for a child",
	"gateway/upstream/tools.go":       "waits for one of two channels",
	"gateway/upstream/ending.go":      "ends its link after a panic",
	"gateway/realtime.go":             "hands over what caught.Do gives",
	"gateway/upstreams.go":            "drops its client after a panic",
	"channels/slack/session.go":       "hands over what caught.Do gives",
}

// TestGoroutinesAreGuarded: a panic in a goroutine ends the whole process unless
// the goroutine itself recovers it.
func TestGoroutinesAreGuarded(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		for _, outside := range []string{"examples/", "internal/testkit/", "internal/bench/", "internal/db/dbtest/", "channels/channeltest/"} {
			if strings.HasPrefix(name, outside) {
				return nil
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil && starts(file) && bare[name] == "" {
			t.Errorf("%s starts a goroutine: use caught.Go or caught.Keep", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// starts tells whether a file starts a goroutine by itself.
func starts(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" {
				x, plain := sel.X.(*ast.Ident)
				found = found || !plain || x.Name != "caught"
			}
		}
		_, is := n.(*ast.GoStmt)
		found = found || is
		return true
	})
	return found
}
