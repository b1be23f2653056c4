package telegramfake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const maxUpload = 50 << 20 // sendDocument, core.telegram.org/bots/api#sending-files

// request is one call as it came in, whatever its encoding.
type request struct {
	ctx    context.Context
	method string // in the spelling of the documentation
	values map[string]string
	files  map[string]File
}

// File is an uploaded document.
type File struct {
	Name string
	Data []byte
}

// parse reads query, urlencoded, multipart and JSON parameters. An empty body
// under a multipart type is legal: clients send it for methods without
// parameters.
func parse(r *http.Request, method string) (*request, error) {
	c := &request{ctx: r.Context(), method: method, values: map[string]string{}, files: map[string]File{}}
	c.addAll(r.URL.Query())
	kind, attrs, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body := io.LimitReader(r.Body, maxUpload+1<<20)
	switch kind {
	case "application/json":
		return c, c.readJSON(body)
	case "application/x-www-form-urlencoded":
		return c, c.readForm(body)
	case "multipart/form-data":
		return c, c.readMultipart(body, attrs["boundary"])
	}
	return c, nil
}

func (c *request) addAll(values url.Values) {
	for name := range values {
		c.values[name] = values.Get(name)
	}
}

// readJSON keeps other values than strings as their JSON text.
func (c *request) readJSON(body io.Reader) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&fields); err != nil {
		return badRequest("can't parse request body as JSON object")
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		c.values[name] = text
	}
	return nil
}

func (c *request) readForm(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(string(raw))
	if err != nil {
		return badRequest("can't parse urlencoded parameters")
	}
	c.addAll(values)
	return nil
}

func (c *request) readMultipart(body io.Reader, boundary string) error {
	parts := multipart.NewReader(body, boundary)
	for first := true; ; first = false {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if first && strings.Contains(err.Error(), "EOF") { // no byte at all
				return nil
			}
			return fmt.Errorf("read multipart: %w", err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("read multipart: %w", err)
		}
		if part.FileName() == "" {
			c.values[part.FormName()] = string(data)
			continue
		}
		c.files[part.FormName()] = File{Name: part.FileName(), Data: data}
	}
}

// int returns a whole number, 0 when missing or unreadable, as Telegram does.
func (c *request) int(name string) int64 {
	n, _ := strconv.ParseInt(c.values[name], 10, 64)
	return n
}

func (c *request) bool(name string) bool { return c.values[name] == "true" }
