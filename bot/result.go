package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxResultText is how much of a result is brought to a chat, in characters.
const maxResultText = 500_000

// toolResult is MCP's form of a result.
type toolResult struct {
	Content           []block         `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

// block is one part of a result.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	Name     string `json:"name"`
	URI      string `json:"uri"`
	Resource struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
		Blob     string `json:"blob"`
	} `json:"resource"`
}

// readResult gives a result as visible text, and whether the tool called it a
// failure.
func readResult(raw json.RawMessage) (text string, failed bool) {
	var r toolResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return "The result is no MCP result and cannot be shown.", true
	}
	var parts []string
	for _, b := range r.Content {
		parts = append(parts, b.String())
	}
	if len(parts) == 0 && len(r.StructuredContent) > 0 {
		var out bytes.Buffer
		if json.Indent(&out, r.StructuredContent, "", "  ") == nil {
			parts = append(parts, out.String())
		}
	}
	text, left := cut(Visible(strings.Join(parts, "\n")), maxResultText)
	if left > 0 {
		text += fmt.Sprintf("\n… %d more characters are not shown.", left)
	}
	return text, r.IsError
}

// String shows text as it is and says of anything else what it is.
func (b block) String() string {
	switch b.Type {
	case "text":
		return b.Text
	case "image", "audio":
		return fmt.Sprintf("[%s, %s, %s]", b.Type, b.MIMEType, bytesOf(b.Data))
	case "resource_link":
		return strings.TrimSpace(fmt.Sprintf("[resource] %s %s", b.Name, b.URI))
	case "resource":
		if b.Resource.Blob != "" {
			return fmt.Sprintf("[resource %s, %s, %s]", b.Resource.URI, b.Resource.MIMEType, bytesOf(b.Resource.Blob))
		}
		return fmt.Sprintf("[resource %s]\n%s", b.Resource.URI, b.Resource.Text)
	}
	return fmt.Sprintf("[%s]", b.Type)
}

// bytesOf is the size of what base64 holds.
func bytesOf(base64 string) string {
	n := len(strings.TrimRight(base64, "=")) * 3 / 4
	if n < 10_000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d kB", n/1000)
}
