package slackfake

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// tokenOf is the token of the header or, failing that, of the form.
func tokenOf(r *http.Request, params map[string]string) string {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	return params["token"]
}

// maxBody is more than any request of the methods here may need.
const maxBody = 4 << 20

func readParams(r *http.Request) (map[string]string, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return readJSON(r.Body)
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return nil, err
		}
	default:
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
	}
	params := make(map[string]string)
	for key, values := range r.Form {
		if len(values) != 1 {
			return nil, errors.New("parameter " + key + " is given more than once")
		}
		params[key] = values[0]
	}
	return params, nil
}

// readJSON keeps values that are not strings as JSON text.
func readJSON(body io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(body)
	if err != nil || len(data) == 0 {
		return map[string]string{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	params := make(map[string]string, len(fields))
	for key, value := range fields {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		params[key] = text
	}
	return params, nil
}
