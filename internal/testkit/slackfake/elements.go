package slackfake

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
