package steerholm

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"holm/policy"
)

var update = flag.Bool("update", false, "write what the translator gives into the golden files")

// TestTranslations reads the folder in dir/ of each file and compares with want.
func TestTranslations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			im, err := Read(folder(archive), keyringOf(archive))
			if err != nil {
				t.Fatal(err)
			}
			got := describe(t, im)
			if *update {
				rewrite(t, file, archive, got)
			}
			if diff := cmp.Diff(part(archive, "want"), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func folder(archive *txtar.Archive) fstest.MapFS {
	dir := fstest.MapFS{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "dir/"); ok {
			dir[name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return dir
}

func part(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func keyringOf(archive *txtar.Archive) Keyring {
	if text := part(archive, "plainkeyring"); text != "" {
		return PlainKeyring(text)
	}
	hashes := map[string]string{}
	for line := range strings.Lines(part(archive, "keyring")) {
		if at := strings.LastIndex(line, " "); at > 0 {
			hashes[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return func(agent string) (string, error) { return hashes[agent], nil }
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	var kept []txtar.File
	for _, f := range archive.Files {
		if f.Name != "want" {
			kept = append(kept, f)
		}
	}
	archive.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// describe writes everything an Import holds, and checks that each row can be
// stored.
func describe(t *testing.T, im *Import) string {
	t.Helper()
	var b bytes.Buffer
	for _, s := range im.Servers {
		fmt.Fprintf(&b, "server %q: %q %s env=%v headers=%v\n", s.Name, s.Command, s.URL, s.Env, s.Headers)
	}
	for _, a := range im.Agents {
		fmt.Fprintf(&b, "agent %q: key=%v\n", a.Name, a.Key != nil)
		if a.Key != nil {
			fmt.Fprintf(&b, "  %s %s\n", a.Key.Prefix, a.Key.Hash)
		}
		for _, row := range a.Rows {
			describeRow(t, &b, a, row)
		}
	}
	if err := im.WriteReport(&b); err != nil {
		t.Fatal(err)
	}
	report, _, _ := strings.Cut(b.String(), "\nDifferent for all:")
	return report + "\n"
}

func describeRow(t *testing.T, b *bytes.Buffer, a Agent, row policy.Row) {
	t.Helper()
	if err := row.Validate(); err != nil || row.AgentID != a.Name || row.Effect != policy.Allow {
		t.Errorf("row %+v: %v", row, err)
	}
	scope, err := json.Marshal(row.Scope)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "  %s %v %s\n", row.ResourceKey, row.Grants, scope)
}
