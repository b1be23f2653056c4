package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holm/approvals"
	"holm/internal/servers"
	"holm/policy/rulestore"
)

//go:generate go test . -run TestDocument -rewrite

// bearerScheme is the name of the one way to prove who calls.
const bearerScheme = "bearer"

// version is that of the interface, not of Holm.
const version = "1"

// Document is the OpenAPI 3.1 description of the interface, as served at
// /api/openapi.json and kept in docs/openapi.json.
func Document() ([]byte, error) {
	s := &server{}
	s.routes()
	plain, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("httpapi: describe the interface: %w", err)
	}
	var document bytes.Buffer
	if err := json.Indent(&document, plain, "", "  "); err != nil {
		return nil, fmt.Errorf("httpapi: describe the interface: %w", err)
	}
	document.WriteByte('\n')
	return document.Bytes(), nil
}

func newAPI(mux *http.ServeMux) huma.API {
	replaceErrors()
	config := huma.DefaultConfig("Holm", version)
	config.Info.Description = "The REST interface of Holm. Failures are RFC 9457 problems with a stable code."
	config.CreateHooks = nil // they would add $schema links
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{bearerScheme: {
		Type: "http", Scheme: "bearer",
		Description: "The operator's admin token, an agent's access key, or a channel's token with the header X-Channel-User-Id.",
	}}
	return humago.New(wholeKeys{mux}, config)
}

// wholeKeys takes all that follows for the key of a resource: ServeMux would
// not match the key "/" (%2F) as one segment.
type wholeKeys struct{ *http.ServeMux }

func (w wholeKeys) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	w.ServeMux.HandleFunc(strings.Replace(pattern, "{resourceKey}", "{resourceKey...}", 1), handler)
}

// replaceErrors makes huma's own refusals problems of ours, and property names
// exact. huma keeps both in variables of the process.
var replaceErrors = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, causes ...error) huma.StatusError {
		return newProblem(status, message, causes...)
	}
})

// schemaNames tell types apart that are called alike in their packages.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[approvals.Wire]():     "ApprovalRequest",
	reflect.TypeFor[approvals.Delivery](): "CardDelivery",
	reflect.TypeFor[rulestore.Row]():      "PolicyRow",
	reflect.TypeFor[servers.Wire]():       "RegisteredServer",
}

func schemaName(t reflect.Type, hint string) string {
	if name, ok := schemaNames[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}
