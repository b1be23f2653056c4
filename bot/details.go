package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holm/approvals"
	"holm/internal/redact"
)

// maxPieces is how many messages Details may take on a channel without files:
// more would bury the card they belong to.
const maxPieces = 10

// Quoter is a capability: the channel can show a long text folded in one message,
// for its reader to open. Nothing in the text can pass for words outside of it.
type Quoter interface {
	// QuoteHolds tells, without I/O, whether one message holds all of it.
	QuoteHolds(title, text string) bool
	SendQuote(ctx context.Context, to Recipient, title, text string) (MessageRef, error)
}

// Details is the full text of a request's arguments: redacted, indented, with
// everything visible.
func Details(r approvals.Request) string {
	redacted := redact.JSON(r.ArgsBytes)
	var out bytes.Buffer
	if err := json.Indent(&out, redacted, "", "  "); err != nil {
		return Visible(string(redacted))
	}
	return Visible(out.String())
}

// reachable tells whether Details can bring all arguments to the recipient.
func reachable(r approvals.Request, s Surface) bool {
	if s.Files {
		return true
	}
	_, ok := messagesOf("Arguments", Details(r), s.Limits, s.Shows)
	return ok
}

// pieceSize leaves room for a heading, and for a platform that counts some
// characters twice.
func pieceSize(l Limits) int { return max(l.Total/2-100, 1) }

// sendDetails brings the full arguments to one person, below the card; all is
// false when they were told that they are too long for the chat.
func (b *Bot) sendDetails(ctx context.Context, ch Channel, btn approvals.Button) (all bool, err error) {
	to := Recipient{Identity: btn.Identity, ReplyTo: MessageRef{Chat: btn.Chat, Message: btn.Message}}
	heading := fmt.Sprintf("Arguments of request #%d", btn.ShortID)
	text := Details(btn.Request)
	if quoter, ok := ch.(Quoter); ok && quoter.QuoteHolds(heading, text) {
		return true, b.reach(ch, func() error {
			_, err := quoter.SendQuote(ctx, to, heading, text)
			return err
		})
	}
	parts, fits := messagesOf(heading, text, ch.Limits(), showsOf(ch))
	if files, ok := ch.(FileSender); ok && len(parts) != 1 {
		name := fmt.Sprintf("request-%d-arguments.json", btn.ShortID)
		err := files.SendFile(ctx, to, name, []byte(text), heading)
		if !errors.Is(err, ErrSetup) {
			return err == nil, err
		}
		b.Log.Warn("a file may not be sent; sending messages", "channel", ch.Namespace(), "error", err)
	}
	if !fits {
		return false, b.say(ctx, ch, to, heading+" are too long for this chat; the web page and the command line show them.")
	}
	for _, part := range parts {
		if err := b.say(ctx, ch, to, part); err != nil {
			return false, err
		}
	}
	return true, nil
}

// messagesOf breaks a text into messages below a heading, of which the channel cuts
// none; ok is false, and there are none, when they would be too many.
func messagesOf(heading, text string, l Limits, shows func(Card) bool) (messages []string, ok bool) {
	for size := pieceSize(l); size > 0 && length(text) <= size*maxPieces; size /= 2 {
		parts := pieces(text, size)
		if len(parts) > maxPieces {
			break
		}
		messages = nil
		for i, part := range parts {
			title := heading
			if len(parts) > 1 {
				title = fmt.Sprintf("%s (%d of %d)", heading, i+1, len(parts))
			}
			messages = append(messages, title+"\n"+part)
		}
		if shows == nil || !slices.ContainsFunc(messages, func(m string) bool { return !shows(Card{Head: m}) }) {
			return messages, true
		}
	}
	return nil, false
}

// pieces breaks a text into parts of at most n characters, after a line where
// one ends in the second half of the part.
func pieces(text string, n int) []string {
	var parts []string
	for length(text) > n {
		part, _ := cut(text, n)
		if part == "" { // one sign longer than a part
			part = string([]rune(text)[:n])
		}
		if at := bytes.LastIndexByte([]byte(part), '\n'); at > len(part)/2 {
			part = part[:at+1]
		}
		parts = append(parts, part)
		text = text[len(part):]
	}
	return append(parts, text)
}
