package slackfake

// limits are Block Kit's, in code points unless they count things
// (docs.slack.dev/reference/block-kit). Names are paths into the table that
// the tests compare them with, where it is present.
var limits = map[string]int{
	"text.min_length":                  1,
	"text.max_length":                  3000,
	"action_id.max_length":             255,
	"block_id.max_length":              255,
	"button.text.max_length":           75,
	"button.url.max_length":            3000,
	"button.value.max_length":          2000,
	"confirmation.title.max_length":    100,
	"confirmation.text.max_length":     300,
	"confirmation.confirm.max_length":  30,
	"confirmation.deny.max_length":     30,
	"actions.elements.max_items":       25,
	"context.elements.max_items":       10,
	"header.text.max_length":           150,
	"image.image_url.max_length":       3000,
	"image.alt_text.max_length":        2000,
	"markdown.text.min_length":         1,
	"markdown.text.max_length":         12000,
	"section.text.max_length":          3000,
	"section.fields.max_items":         10,
	"section.fields.item_max_length":   2000,
	"input.label.max_length":           2000,
	"input.hint.max_length":            2000,
	"plain_text_input.max_length.max":  3000,
	"radio_buttons.options.min_items":  1,
	"radio_buttons.options.max_items":  10,
	"option.text.max_length":           75,
	"option.value.max_length":          150,
	"option.description.max_length":    75,
	"select.options.max_items":         100,
	"select.placeholder.max_length":    150,
	"view.blocks.max_items":            100,
	"view.title.max_length":            24,
	"view.close.max_length":            24,
	"view.submit.max_length":           24,
	"view.callback_id.max_length":      255,
	"view.private_metadata.max_length": 3000,
}

const (
	// messageBlocks is the most blocks of a message.
	messageBlocks = 50
	// allBlocks is about the most characters of all blocks (reported by users,
	// not documented).
	allBlocks = 13_200
)
