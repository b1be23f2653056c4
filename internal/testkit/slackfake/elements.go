package slackfake

import "fmt"

// element checks an interactive element; only buttons are known here.
func (c *blockCheck) element(at string, value any) {
	e, ok := value.(object)
	if !ok || e["type"] != "button" {
		c.wrong(at, "unsupported element")
		return
	}
	c.only(at, e, "text", "action_id", "url", "value", "style", "confirm", "accessibility_label")
	c.text(at+"/text", e["text"], limits["button.text.max_length"], "plain_text")
	c.id(at, e, "action_id", c.actionIDs)
	if e["value"] != nil {
		c.length(at+"/value", e["value"], 0, limits["button.value.max_length"])
	}
	if e["url"] != nil {
		c.length(at+"/url", e["url"], 1, limits["button.url.max_length"])
	}
	if style := e["style"]; style != nil && style != "primary" && style != "danger" {
		c.wrong(at+"/style", "must be a valid enum value")
	}
	if e["confirm"] != nil {
		c.confirm(at+"/confirm", e["confirm"])
	}
}

func (c *blockCheck) confirm(at string, value any) {
	o, _ := value.(object)
	c.only(at, o, "title", "text", "confirm", "deny", "style")
	c.text(at+"/title", o["title"], limits["confirmation.title.max_length"], "plain_text")
	c.text(at+"/text", o["text"], limits["confirmation.text.max_length"], "plain_text", "mrkdwn")
	c.text(at+"/confirm", o["confirm"], limits["confirmation.confirm.max_length"], "plain_text")
	c.text(at+"/deny", o["deny"], limits["confirmation.deny.max_length"], "plain_text")
}

func (c *blockCheck) image(at string, o object) {
	c.only(at, o, "image_url", "alt_text", "title", "slack_file")
	c.length(at+"/image_url", o["image_url"], 1, limits["image.image_url.max_length"])
	c.length(at+"/alt_text", o["alt_text"], 1, limits["image.alt_text.max_length"])
}

// input checks a field that a person fills; messages have none.
func (c *blockCheck) input(at string, b object) {
	if !c.view {
		c.wrong(at+"/type", "unsupported type: input")
	}
	c.inputs++
	c.only(at, b, "label", "element", "hint", "optional", "dispatch_action")
	c.text(at+"/label", b["label"], limits["input.label.max_length"], "plain_text")
	if b["hint"] != nil {
		c.text(at+"/hint", b["hint"], limits["input.hint.max_length"], "plain_text")
	}
	at += "/element"
	e, _ := b["element"].(object)
	c.id(at, e, "action_id", c.actionIDs)
	switch e["type"] {
	case "plain_text_input":
		c.only(at, e, "action_id", "initial_value", "multiline", "min_length", "max_length", "placeholder", "focus_on_load", "dispatch_action_config")
		if most, ok := e["max_length"].(float64); ok && (most < 1 || most > float64(limits["plain_text_input.max_length.max"])) {
			c.wrong(at+"/max_length", "must be between 1 and %d", limits["plain_text_input.max_length.max"])
		}
		if e["placeholder"] != nil {
			c.text(at+"/placeholder", e["placeholder"], limits["select.placeholder.max_length"], "plain_text")
		}
	case "radio_buttons":
		c.only(at, e, "action_id", "options", "initial_option", "focus_on_load", "confirm")
		c.options(at+"/options", e["options"], limits["radio_buttons.options.max_items"], "plain_text", "mrkdwn")
	case "static_select":
		c.only(at, e, "action_id", "options", "initial_option", "focus_on_load", "confirm", "placeholder")
		c.options(at+"/options", e["options"], limits["select.options.max_items"], "plain_text")
		if e["placeholder"] != nil {
			c.text(at+"/placeholder", e["placeholder"], limits["select.placeholder.max_length"], "plain_text")
		}
	default:
		c.wrong(at, "unsupported element")
	}
}

func (c *blockCheck) options(at string, value any, most int, kinds ...string) {
	options, _ := value.([]any)
	c.count(at, options, most)
	for i, o := range options {
		c.option(fmt.Sprintf("%s/%d", at, i), o, kinds)
	}
}

func (c *blockCheck) option(at string, value any, kinds []string) {
	o, _ := value.(object)
	c.only(at, o, "text", "value", "description")
	c.text(at+"/text", o["text"], limits["option.text.max_length"], kinds...)
	c.length(at+"/value", o["value"], 1, limits["option.value.max_length"])
	if o["description"] != nil {
		c.text(at+"/description", o["description"], limits["option.description.max_length"], "plain_text")
	}
}
