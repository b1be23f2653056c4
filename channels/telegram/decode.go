package telegram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holm/bot"
)

// These are the few fields that are read of an update. The client library's
// types know all of them and refuse an update when any is of a new form.
type (
	update struct {
		ID       int64     `json:"update_id"`
		Message  *message  `json:"message"`
		Callback *callback `json:"callback_query"`
		Standing *standing `json:"my_chat_member"`
	}
	// standing is a change of what the bot may do in a chat.
	standing struct {
		Chat chat  `json:"chat"`
		From *user `json:"from"`
		New  struct {
			Status string `json:"status"`
		} `json:"new_chat_member"`
	}
	message struct {
		ID      int64           `json:"message_id"`
		From    *user           `json:"from"`
		Chat    chat            `json:"chat"`
		Topic   int64           `json:"message_thread_id"`
		InTopic bool            `json:"is_topic_message"` // else Topic is a mere thread of replies
		Text    string          `json:"text"`
		Caption string          `json:"caption"`
		Sender  *chat           `json:"sender_chat"`
		Forward json.RawMessage `json:"forward_origin"`
		ViaBot  *user           `json:"via_bot"`
		ReplyTo *message        `json:"reply_to_message"`
		attachments
	}
	// attachments are what a message may hold besides its text or caption.
	attachments struct {
		Animation json.RawMessage `json:"animation"`
		Audio     json.RawMessage `json:"audio"`
		Contact   json.RawMessage `json:"contact"`
		Dice      json.RawMessage `json:"dice"`
		Document  json.RawMessage `json:"document"`
		Location  json.RawMessage `json:"location"`
		PaidMedia json.RawMessage `json:"paid_media"`
		Photo     json.RawMessage `json:"photo"`
		Poll      json.RawMessage `json:"poll"`
		Sticker   json.RawMessage `json:"sticker"`
		Story     json.RawMessage `json:"story"`
		Video     json.RawMessage `json:"video"`
		VideoNote json.RawMessage `json:"video_note"`
		Voice     json.RawMessage `json:"voice"`
	}
	// A callback's message may be inaccessible; chat and id are there all the
	// same. Without a chat it belongs to an inline message.
	callback struct {
		ID      string   `json:"id"`
		From    *user    `json:"from"`
		Message *message `json:"message"`
		Data    string   `json:"data"`
	}
	user struct {
		ID        int64  `json:"id"`
		IsBot     bool   `json:"is_bot"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
	}
	chat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	}
)

// tapReply is what Answer needs of a tap.
type tapReply struct {
	Query string `json:"query"`
}

// Decode implements bot.Channel. Data of buttons passes as it is, also forged
// data. Texts count when a person wrote them: not forwarded ones, not those of
// bots, channels and anonymous administrators; in groups only those meant for
// this bot. A text that mentions some bot is an error until the own name is
// known, which Run and LinkFor learn.
func (c *Channel) Decode(payload json.RawMessage) (bot.Event, bool, error) {
	var u update
	if err := json.Unmarshal(payload, &u); err != nil {
		return bot.Event{}, false, fmt.Errorf("telegram: read an update: %w", err)
	}
	switch {
	case u.Callback != nil:
		return decodeTap(u.Callback)
	case u.Message != nil:
		return c.decodeText(u.Message)
	case u.Standing != nil:
		return decodeStanding(u.Standing)
	}
	return bot.Event{}, false, nil
}

func decodeTap(q *callback) (bot.Event, bool, error) {
	if !q.From.isPerson() {
		return bot.Event{}, false, nil
	}
	reply, err := json.Marshal(tapReply{Query: q.ID})
	if err != nil {
		return bot.Event{}, false, fmt.Errorf("telegram: read a tap: %w", err)
	}
	ev := q.From.event(bot.Tap)
	ev.Token, ev.Reply = q.Data, reply
	if m := q.Message; m != nil && m.Chat.ID != 0 {
		ev.Message, ev.Direct = refOf(m.Chat.ID, m.ID), m.Chat.isDirect(q.From)
	}
	return ev, true, nil
}

// decodeStanding tells of a person who blocked the bot or took that back. What
// the bot may do in groups concerns nobody: it writes to people alone.
func decodeStanding(s *standing) (bot.Event, bool, error) {
	if !s.From.isPerson() || !s.Chat.isDirect(s.From) {
		return bot.Event{}, false, nil
	}
	kind, ok := map[string]bot.EventKind{"kicked": bot.Left, "member": bot.Joined}[s.New.Status]
	ev := s.From.event(kind)
	ev.Direct = true
	return ev, ok, nil
}

func (c *Channel) decodeText(m *message) (bot.Event, bool, error) {
	written := m.Sender == nil && m.Forward == nil && m.ViaBot == nil
	said := cmp.Or(m.Text, m.Caption)
	if !m.From.isPerson() || !written || said == "" && !m.any() || m.Chat.Type == "channel" {
		return bot.Event{}, false, nil
	}
	ev := m.From.event(bot.Text)
	text, meant, err := c.ownText(m, said)
	if err != nil || !meant {
		return ev, false, err
	}
	ev.Command, ev.Unread = commandForm.MatchString(strings.TrimSpace(said)), m.any()
	ev.Text, ev.Message, ev.Direct = text, refOf(m.Chat.ID, m.ID), m.Chat.isDirect(m.From)
	if m.InTopic && m.Topic > 0 {
		ev.Message.Thread = strconv.FormatInt(m.Topic, 10)
	}
	if c.isAnswerToBot(m) {
		ev.ReplyTo = refOf(m.Chat.ID, m.ReplyTo.ID)
	}
	return ev, true, nil
}

var (
	commandForm = regexp.MustCompile(`^/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]+))?(?:\s+|$)`)
	mentionForm = regexp.MustCompile(`(?:^|[^A-Za-z0-9_@])@([A-Za-z0-9_]{3,})`)
)

var errNameless = errors.New("telegram: the bot's own name is not known yet, the text may be meant for another bot")

// ownText is what was said to this bot, without slash and mention; meant is
// false when it was said to somebody else.
func (c *Channel) ownText(m *message, said string) (text string, meant bool, err error) {
	text = strings.TrimSpace(said)
	if cmd := commandForm.FindStringSubmatch(text); cmd != nil {
		if cmd[2] != "" {
			mine, err := c.isOwnName(cmd[2])
			if err != nil || !mine {
				return "", false, err
			}
		}
		return strings.TrimSpace(cmd[1] + " " + text[len(cmd[0]):]), true, nil
	}
	text, mentioned, err := c.withoutMention(text)
	if err != nil {
		return "", false, err
	}
	return text, m.Chat.Type == "private" || mentioned || c.isAnswerToBot(m), nil
}

// isAnswerToBot tells whether a message quotes one of the bot's own.
func (c *Channel) isAnswerToBot(m *message) bool {
	return m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == c.id()
}

// withoutMention takes the first mention of this bot out of a text.
func (c *Channel) withoutMention(text string) (string, bool, error) {
	for _, at := range mentionForm.FindAllStringSubmatchIndex(text, -1) {
		mine, err := c.isOwnName(text[at[2]:at[3]])
		if err != nil {
			return "", false, err
		}
		if mine {
			before, after := text[:at[2]-1], text[at[3]:]
			return strings.TrimSpace(strings.TrimSpace(before) + " " + strings.TrimSpace(after)), true, nil
		}
	}
	return text, false, nil
}

func (c *Channel) isOwnName(name string) (bool, error) {
	own := c.name()
	if own == "" {
		return false, errNameless
	}
	return strings.EqualFold(name, own), nil
}

// any tells whether there is something that cannot be read as a text.
func (a attachments) any() bool {
	return len(slices.Concat(a.Animation, a.Audio, a.Contact, a.Dice, a.Document, a.Location, a.PaidMedia,
		a.Photo, a.Poll, a.Sticker, a.Story, a.Video, a.VideoNote, a.Voice)) > 0
}

// isPerson is false for bots, and when Telegram names nobody.
func (u *user) isPerson() bool { return u != nil && u.ID > 0 && !u.IsBot }

func (u *user) event(kind bot.EventKind) bot.Event {
	return bot.Event{
		Kind: kind, Identity: strconv.FormatInt(u.ID, 10),
		Name: strings.TrimSpace(u.FirstName + " " + u.LastName),
	}
}

// isDirect reports the private chat of the very person: its id is theirs.
func (c chat) isDirect(who *user) bool { return c.Type == "private" && c.ID == who.ID }
