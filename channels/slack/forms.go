package slack

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// The forms and their fields. Decode knows them by these names; forms that
// people have open outlive a new version of Holm.
const (
	askView      = "holm_ask"
	reviewView   = "holm_review"
	reasonBlock  = "holm_reason"
	reasonAction = "holm_reason_text"
	choiceBlock  = "holm_choice"
	choiceAction = "holm_choice_of"
)

// Limits of forms (docs.slack.dev/reference/views).
const (
	titleLimit  = 24
	viewLimit   = 240_000 // bytes as JSON, of 250,000
	longestText = 1000    // of a reason
	optionLimit = 75
	radioLimit  = 10
)

var errNoTrigger = errors.New("slack: this tap cannot open a form")

// AsksAtOnce is true: a form costs no further message.
func (c *Channel) AsksAtOnce() bool { return true }

// Ask opens a form for a text. Slack wants it within 3 s of the tap.
func (c *Channel) Ask(ctx context.Context, ev bot.Event, q bot.Question) (bot.MessageRef, error) {
	return bot.MessageRef{}, c.open(ctx, ev, slackgo.ModalViewRequest{
		Type: slackgo.VTModal, Title: plainText(line(q.Title, titleLimit)),
		Submit: plainText("Send"), Close: plainText("Back"),
		CallbackID: askView, PrivateMetadata: q.Token, NotifyOnClose: true,
		Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{section(clip(q.Text, sectionBudget, 0)), reasonField("Reason", false)}},
	})
}

// Review opens the form of a request, or of several.
func (c *Channel) Review(ctx context.Context, ev bot.Event, f bot.Form) error {
	body, ok := reviewBlocks(f.Card)
	if !ok {
		return errors.New("slack: a request that no form can show")
	}
	var options []*slackgo.OptionBlockObject
	for _, b := range f.Choices {
		options = append(options, slackgo.NewOptionBlockObject(b.Token, plainText(line(b.Label, optionLimit)), nil))
	}
	body = append(body,
		slackgo.NewInputBlock(choiceBlock, plainText("Decision"), nil, choiceOf(options)),
		reasonField("Reason, passed on to the requester", !f.NeedsReason))
	return c.open(ctx, ev, slackgo.ModalViewRequest{
		Type: slackgo.VTModal, Title: plainText(line(f.Title, titleLimit)),
		Submit: plainText("Decide"), Close: plainText("Close"),
		CallbackID: reviewView, Blocks: slackgo.Blocks{BlockSet: body},
	})
}

// choiceOf lets one of options be taken: all in sight where they are as few as
// Slack shows, else from a list, which holds a hundred.
func choiceOf(options []*slackgo.OptionBlockObject) slackgo.BlockElement {
	if len(options) <= radioLimit {
		return slackgo.NewRadioButtonsBlockElement(choiceAction, options...)
	}
	return slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, plainText("Choose"), choiceAction, options...)
}

// Holds tells whether a form can show all of card.
func (c *Channel) Holds(card bot.Card) bool {
	_, ok := reviewBlocks(card)
	return ok
}

func (c *Channel) open(ctx context.Context, ev bot.Event, view slackgo.ModalViewRequest) error {
	var to replyTo
	if json.Unmarshal(ev.Reply, &to) != nil || to.Trigger == "" {
		return errNoTrigger
	}
	_, err := c.api.OpenViewContext(ctx, to.Trigger, view)
	return c.outcome("views.open", err)
}

func reasonField(label string, optional bool) *slackgo.InputBlock {
	text := slackgo.NewPlainTextInputBlockElement(nil, reasonAction).WithMultiline(true).WithMaxLength(longestText)
	return slackgo.NewInputBlock(reasonBlock, plainText(label), nil, text).WithOptional(optional)
}

// reviewBlocks show card with nothing left out, a value over as many blocks as
// it takes; ok is false when they are more than a form holds.
func reviewBlocks(card bot.Card) (blocks []slackgo.Block, ok bool) {
	const fields = 2 // the choice and the reason
	blocks = append(header(card.Head), joined(factLines(card.Facts))...)
	for _, a := range card.Args {
		if a.Cut > 0 {
			return nil, false
		}
		blocks = append(blocks, sections(pieces(a))...)
		if len(blocks) > pageLimit {
			return nil, false
		}
	}
	blocks = slices.Concat(blocks, contexts(within(noteLines(card.Notes), contextLimit, notesBudget)))
	encoded, err := json.Marshal(blocks)
	return blocks, err == nil && len(blocks)+fields <= pageLimit && len(encoded) <= viewLimit
}

// pieces are an argument in parts that fit a section. Nothing of it is lost, and
// no part after the first looks like a line of its own.
func pieces(a bot.Arg) (parts []string) {
	const more = "… "
	rest := []rune(strings.ReplaceAll(a.Name, "\n", "↵") + ": " + a.Value)
	mark := ""
	for len(rest) > 0 {
		n := fitting(rest, sectionBudget-len(more))
		if n < len(rest) {
			n = lineEnd(rest, n)
		}
		parts = append(parts, mark+shown(string(rest[:n])))
		rest, mark = rest[n:], more
	}
	return parts
}

// line is text on one line of at most limit characters.
func line(text string, limit int) string {
	runes := []rune(bot.VisibleLine(text))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}
