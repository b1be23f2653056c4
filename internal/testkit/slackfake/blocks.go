package slackfake

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// blockCheck collects what is wrong with the blocks of one message.
type blockCheck struct {
	problems  []string
	blockIDs  map[string]bool
	actionIDs map[string]bool
	chars     int
	view      bool // of a view, where fields may be filled
	inputs    int
}

type object = map[string]any

// checkBlocks reads and checks a message's blocks, and gives each a block_id.
func (s *Server) checkBlocks(raw string) ([]json.RawMessage, error) {
	var blocks []any
	if json.Unmarshal([]byte(raw), &blocks) != nil {
		return nil, refuse("invalid_blocks_format")
	}
	c := &blockCheck{blockIDs: map[string]bool{}, actionIDs: map[string]bool{}}
	if len(blocks) > messageBlocks {
		c.wrong("/blocks", "no more than %d items allowed", messageBlocks)
	}
	for i, b := range blocks {
		c.block(fmt.Sprintf("/blocks/%d", i), b)
	}
	if len(c.problems) > 0 {
		return nil, &refusal{"invalid_blocks", answer{
			"errors": c.problems, "response_metadata": answer{"messages": prefixed(c.problems)},
		}}
	}
	if c.chars > allBlocks {
		return nil, refuse("msg_blocks_too_long")
	}
	return encode(blocks), nil
}

func prefixed(problems []string) []string {
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = "[ERROR] " + p
	}
	return messages
}

func encode(blocks []any) []json.RawMessage {
	out := make([]json.RawMessage, len(blocks))
	for i, b := range blocks {
		block := b.(object)
		if block["block_id"] == nil {
			block["block_id"] = hexID(5)
		}
		out[i], _ = json.Marshal(block)
	}
	return out
}

func (c *blockCheck) wrong(at, format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...)+" [json-pointer:"+at+"]")
}

func (c *blockCheck) block(at string, b any) {
	block, ok := b.(object)
	if !ok {
		c.wrong(at, "must be an object")
		return
	}
	c.id(at, block, "block_id", c.blockIDs)
	switch kind := block["type"]; kind {
	case "header":
		c.only(at, block, "text", "level")
		c.text(at+"/text", block["text"], limits["header.text.max_length"], "plain_text")
	case "section":
		c.section(at, block)
	case "divider":
		c.only(at, block)
	case "context":
		c.context(at, block)
	case "actions":
		c.actions(at, block)
	case "markdown":
		c.only(at, block, "text")
		c.length(at+"/text", block["text"], limits["markdown.text.min_length"], limits["markdown.text.max_length"])
	case "image":
		c.image(at, block)
	case "input":
		c.input(at, block)
	default:
		c.wrong(at+"/type", "unsupported type: %v", kind)
	}
}

// only reports fields that a block or element of this kind does not have.
func (c *blockCheck) only(at string, o object, allowed ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if key != "type" && key != "block_id" && !slices.Contains(allowed, key) {
			c.wrong(at, "invalid additional property: %s", key)
		}
	}
}

// id checks an id that must be unique within the message.
func (c *blockCheck) id(at string, o object, key string, seen map[string]bool) {
	value, given := o[key]
	if !given {
		return
	}
	c.length(at+"/"+key, value, 1, limits[key+".max_length"])
	id, _ := value.(string)
	if seen[id] {
		c.wrong(at+"/"+key, "`%s` already exists", key)
	}
	seen[id] = true
}

func (c *blockCheck) length(at string, value any, least, most int) {
	text, ok := value.(string)
	n := utf8.RuneCountInString(text)
	switch {
	case value == nil:
		c.wrong(at, "missing required field")
	case !ok:
		c.wrong(at, "must be a string")
	case n < least:
		c.wrong(at, "must be more than %d characters", least-1)
	case n > most:
		c.wrong(at, "must be less than %d characters", most+1)
	}
}

// text checks a text object of one of kinds and counts its characters.
func (c *blockCheck) text(at string, value any, most int, kinds ...string) {
	o, ok := value.(object)
	if !ok {
		c.wrong(at, "missing required field")
		return
	}
	kind, _ := o["type"].(string)
	if !slices.Contains(kinds, kind) {
		c.wrong(at+"/type", "unsupported type: %s", kind)
	}
	if kind == "plain_text" {
		c.only(at, o, "text", "emoji")
	} else {
		c.only(at, o, "text", "verbatim")
	}
	c.length(at+"/text", o["text"], limits["text.min_length"], most)
	text, _ := o["text"].(string)
	c.chars += utf8.RuneCountInString(text)
}

func (c *blockCheck) section(at string, b object) {
	c.only(at, b, "text", "fields", "accessory", "expand")
	fields, hasFields := b["fields"].([]any)
	if b["text"] != nil || !hasFields {
		c.text(at+"/text", b["text"], limits["section.text.max_length"], "plain_text", "mrkdwn")
	}
	if b["fields"] != nil {
		c.count(at+"/fields", fields, limits["section.fields.max_items"])
	}
	for i, f := range fields {
		c.text(fmt.Sprintf("%s/fields/%d", at, i), f, limits["section.fields.item_max_length"], "plain_text", "mrkdwn")
	}
	if b["accessory"] != nil {
		c.element(at+"/accessory", b["accessory"])
	}
}

func (c *blockCheck) count(at string, items []any, most int) {
	switch {
	case len(items) == 0:
		c.wrong(at, "no fewer than 1 items allowed")
	case len(items) > most:
		c.wrong(at, "no more than %d items allowed", most)
	}
}

func (c *blockCheck) context(at string, b object) {
	c.only(at, b, "elements")
	elements, _ := b["elements"].([]any)
	c.count(at+"/elements", elements, limits["context.elements.max_items"])
	for i, e := range elements {
		at := fmt.Sprintf("%s/elements/%d", at, i)
		if o, ok := e.(object); ok && o["type"] == "image" {
			c.image(at, o)
			continue
		}
		c.text(at, e, limits["text.max_length"], "plain_text", "mrkdwn")
	}
}

func (c *blockCheck) actions(at string, b object) {
	c.only(at, b, "elements")
	elements, _ := b["elements"].([]any)
	c.count(at+"/elements", elements, limits["actions.elements.max_items"])
	for i, e := range elements {
		c.element(fmt.Sprintf("%s/elements/%d", at, i), e)
	}
}
