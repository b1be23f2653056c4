package httpapi_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/internal/httpapi"
)

var rewrite = flag.Bool("rewrite", false, "write docs/openapi.json anew")

const documentPath = "../../docs/openapi.json"

func TestDocument(t *testing.T) {
	got, err := httpapi.Document()
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(documentPath, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), string(got)); diff != "" {
		t.Errorf("docs/openapi.json is not that of the code; run go generate ./internal/httpapi\n%s", diff)
	}
}

func TestDocumentIsOpenAPI31WithoutLinks(t *testing.T) {
	text, err := httpapi.Document()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(document.OpenAPI, "3.1") || len(document.Paths) < 20 {
		t.Errorf("openapi %q with %d paths", document.OpenAPI, len(document.Paths))
	}
	if strings.Contains(string(text), "$schema") {
		t.Error("the document has $schema links")
	}
}
