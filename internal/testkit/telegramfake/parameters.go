package telegramfake

import (
	"encoding/json"
	"strconv"
	"strings"
)

// methodParameters lists, for each method that this fake plays, its parameters
// as name:kind, with ! for required ones (Bot API 10.1). Kinds: int, bool,
// string, id (a number or @name), file (an upload, id or address), json.
var methodParameters = map[string]string{
	"getMe":          ``,
	"getWebhookInfo": ``,
	"setWebhook": `url:string! certificate:file ip_address:string max_connections:int allowed_updates:json
		drop_pending_updates:bool secret_token:string`,
	"deleteWebhook": `drop_pending_updates:bool`,
	"getUpdates":    `offset:int limit:int timeout:int allowed_updates:json`,
	"sendMessage": `business_connection_id:string chat_id:id! message_thread_id:int direct_messages_topic_id:int
		text:string! parse_mode:string entities:json link_preview_options:json disable_notification:bool
		protect_content:bool allow_paid_broadcast:bool message_effect_id:string suggested_post_parameters:json
		reply_parameters:json reply_markup:json`,
	"sendDocument": `business_connection_id:string chat_id:id! message_thread_id:int direct_messages_topic_id:int
		document:file! thumbnail:file caption:string parse_mode:string caption_entities:json
		disable_content_type_detection:bool disable_notification:bool protect_content:bool
		allow_paid_broadcast:bool message_effect_id:string suggested_post_parameters:json
		reply_parameters:json reply_markup:json`,
	"editMessageText": `business_connection_id:string chat_id:id message_id:int inline_message_id:string text:string
		parse_mode:string entities:json link_preview_options:json rich_message:json reply_markup:json`,
	"editMessageReplyMarkup": `business_connection_id:string chat_id:id message_id:int inline_message_id:string
		reply_markup:json`,
	"deleteMessage":       `chat_id:id! message_id:int!`,
	"answerCallbackQuery": `callback_query_id:string! text:string show_alert:bool url:string cache_time:int`,
	"sendChatAction":      `business_connection_id:string chat_id:id! message_thread_id:int action:string!`,
	"setMyCommands":       `commands:json! scope:json language_code:string`,
	"getMyCommands":       `scope:json language_code:string`,
	"getChat":             `chat_id:id!`,
}

// objectFields lists the fields of the objects that may stand in json
// parameters, for the same strictness inside them.
var objectFields = map[string]string{
	"InlineKeyboardMarkup": `inline_keyboard`,
	"InlineKeyboardButton": `text icon_custom_emoji_id style url callback_data web_app login_url switch_inline_query
		switch_inline_query_current_chat switch_inline_query_chosen_chat copy_text callback_game pay`,
	"ForceReply":         `force_reply input_field_placeholder selective`,
	"LinkPreviewOptions": `is_disabled url prefer_small_media prefer_large_media show_above_text`,
	"ReplyParameters": `message_id chat_id allow_sending_without_reply quote quote_parse_mode quote_entities
		quote_position checklist_task_id poll_option_id`,
	"MessageEntity":   `type offset length url user language custom_emoji_id unix_time date_time_format`,
	"BotCommand":      `command description`,
	"BotCommandScope": `type chat_id user_id`,
}

// notPlayed are parameters that Telegram knows and this fake does not act on.
const notPlayed = `business_connection_id direct_messages_topic_id caption_entities
	message_effect_id suggested_post_parameters rich_message inline_message_id thumbnail language_code
	certificate ip_address`

type parameter struct {
	kind     string
	required bool
}

func parametersOf(method string) map[string]parameter {
	all := map[string]parameter{}
	for _, word := range strings.Fields(methodParameters[method]) {
		name, kind, _ := strings.Cut(word, ":")
		all[name] = parameter{kind: strings.TrimSuffix(kind, "!"), required: strings.HasSuffix(kind, "!")}
	}
	return all
}

// checkParameters fails the test for parameters that Telegram would ignore or
// guess about, and for those that this fake would.
func (s *Server) checkParameters(c *request) {
	known := parametersOf(c.method)
	for name, value := range c.values {
		p, ok := known[name]
		switch {
		case !ok:
			s.t.Errorf("telegramfake: %s has no parameter %q", c.method, name)
		case isOneOf(name, notPlayed):
			s.t.Errorf("telegramfake: %s: parameter %q is not played by this fake", c.method, name)
		case !isKind(p.kind, value):
			s.t.Errorf("telegramfake: %s: %q is not a %s: %.80q", c.method, name, p.kind, value)
		}
	}
	for name := range c.files {
		if p, ok := known[name]; !ok || p.kind != "file" {
			s.t.Errorf("telegramfake: %s takes no file %q", c.method, name)
		}
	}
}

func isKind(kind, value string) bool {
	switch kind {
	case "int":
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	case "bool":
		return value == "true" || value == "false"
	case "id":
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil || strings.HasPrefix(value, "@") || value == ""
	case "json":
		return json.Valid([]byte(value))
	}
	return true
}

// checkFields fails the test for fields of an object that Telegram does not know.
func (s *Server) checkFields(object string, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	for name := range fields {
		if !isOneOf(name, objectFields[object]) {
			s.t.Errorf("telegramfake: %s has no field %q", object, name)
		}
	}
}

func isOneOf(word, list string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}
