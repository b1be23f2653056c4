// Package bot is chat-ops without a platform: it renders approval cards,
// handles taps and commands, links identities and runs the workers that
// deliver and edit messages. What one platform looks like on the wire belongs
// to channels/<platform>; what a decision means belongs to approvals.
package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Channel is one connection to one chat platform. Implementations know their
// platform and nothing of approvals; all methods may be called concurrently.
type Channel interface {
	// Namespace is the first part of identities of this platform, e.g. "telegram".
	Namespace() string
	// Send delivers a new message to a person's direct chat. The very same card
	// with buttons, sent again within minutes, may be the message that it was:
	// where the platform can tell, one whose answer was lost comes once.
	Send(ctx context.Context, to Recipient, c Card) (MessageRef, error)
	// Update replaces an earlier message. A message that already shows c is
	// success, not an error.
	Update(ctx context.Context, ref MessageRef, c Card) error
	// Answer tells one person, privately, what became of their tap: a toast or
	// an ephemeral line. It is called once for every tap, also a refused one.
	// An empty text only ends the platform's waiting. A tap too old to be
	// answered is not an error.
	Answer(ctx context.Context, ev Event, text string) error
	// Decode reads a payload that this channel handed to Inbox.Store. It does
	// no I/O. ok is false for payloads that concern nobody (joins, edits, the
	// bot's own messages). With an error comes the Identity where that is certain:
	// what the person does next waits then until the payload can be read.
	Decode(payload json.RawMessage) (ev Event, ok bool, err error)
	// Run receives until ctx ends, reconnecting for as long as it takes, and
	// returns nil then. An error means that the set-up cannot work (a refused
	// token): the caller reports it.
	Run(ctx context.Context, in Inbox) error
	// Health tells operators whether the connection works.
	Health() Health
	// Limits tell the renderer what one message can carry.
	Limits() Limits
}

// Inbox keeps what a platform sent. An adapter confirms an update or envelope
// to its platform only after Store has returned nil.
type Inbox interface {
	// Store commits what came, all of it or none. Storing an id a second time is
	// success and does nothing. The events of one person are handled in the order
	// in which they stand here, after those that were stored before: an adapter
	// stores none of a person's beside an earlier one.
	Store(ctx context.Context, namespace string, events ...Incoming) error
	// LastID is the highest numeric event id stored for namespace, 0 when none.
	LastID(ctx context.Context, namespace string) (int64, error)
}

// Incoming is one update or envelope as it came, under the platform's own id of it.
type Incoming struct {
	ID      string
	Payload json.RawMessage
}

// Linker is a capability: the channel can name the address that opens the
// direct chat and hands the bot a one-time token. An empty link means "unknown
// yet"; instructions for people come in Hint, e.g. "send the bot: link TOKEN".
type Linker interface {
	LinkFor(ctx context.Context, token string) (link, hint string)
}

// FileSender is a capability: the channel can send a file to a direct chat.
type FileSender interface {
	SendFile(ctx context.Context, to Recipient, name string, data []byte, caption string) error
}

// Webhook is a capability: the platform calls the channel over HTTP, at
// WebhookPath below the public address, on whichever process answers.
type Webhook interface {
	// ServeWebhook answers one call. It proves first that the platform made it,
	// stores what came in in, and confirms nothing before that is committed.
	ServeWebhook(w http.ResponseWriter, r *http.Request, in Inbox)
}

// WebhookPath is where the platform of a namespace calls for an agent.
func WebhookPath(agentID, namespace string) string {
	return "/api/agents/" + agentID + "/channels/" + namespace + "/webhook"
}

// Home is a capability: the channel has a page of its own for each person.
type Home interface {
	// ShowHome replaces the page of a person; see Card.Whole.
	ShowHome(ctx context.Context, identity string, p Page) error
}

// Page is what stands on a person's page, from top to bottom.
type Page struct {
	Head  string
	Cards []Card
	Notes []string
}

// Namer is a capability: the channel can look up what a person is called. It
// is asked where events carry no name.
type Namer interface {
	// NameOf gives a display name, empty when it cannot be had.
	NameOf(ctx context.Context, identity string) string
}

// Recipient is a person on a platform.
type Recipient struct {
	// Identity is the platform user id as identities spell it: "123456" on
	// Telegram, "T01/U02" on Slack.
	Identity string
	// ReplyTo is the message a reply belongs to, zero for a message of its own. A
	// card without buttons goes to the group that the message stands in, one with
	// buttons never leaves the direct chat.
	ReplyTo MessageRef
}

// MessageRef names one delivered message for later edits. It is stored.
type MessageRef struct {
	Chat    string `json:"chat"`
	Message string `json:"message"`
	// Thread is the thread or topic this message stands in, where the platform
	// has them; a reply goes there. Empty for none.
	Thread string `json:"thread,omitempty"`
}

// EventKind tells what a person did.
type EventKind string

const (
	// Tap is a pressed button; Token says which. Text is what was written beside
	// it, where that is possible.
	Tap EventKind = "tap"
	// Text is a message or command in Text, without the leading slash or the
	// bot's own mention: "start abc", "help", "link abc".
	Text EventKind = "text"
	// Opened is a page that somebody opened; see Home.
	Opened EventKind = "opened"
	// Left and Joined are a person who closed their direct chat to the bot, and
	// opened it again, without a word.
	Left   EventKind = "left"
	Joined EventKind = "joined"
	// Reply is what was written in answer to the Question whose Token it has.
	Reply EventKind = "reply"
	// Closed is a question that was closed without an answer; Token is its own.
	Closed EventKind = "closed"
)

// Event is one thing a person did on a platform, verified by the platform.
type Event struct {
	Kind EventKind
	// Identity is who acted, from the verified update only, never from a
	// message or a chat.
	Identity string
	// Name is a display name, never trusted for a decision.
	Name string
	// Direct is true when it happened in the person's own chat with the bot.
	Direct bool
	// Command is true when the text was typed as a command: with a slash.
	Command bool
	// Text is what was typed; Token is the data of a pressed button.
	Text, Token string
	// Unread tells that with a Text, which may be empty then, came something that
	// cannot be read: a photo, a voice message.
	Unread bool
	// Message is the message whose button was pressed, or that was typed.
	Message MessageRef
	// ReplyTo is the bot's own message that a Text answers, zero for none.
	ReplyTo MessageRef
	// Reply is opaque to the bot; Answer finds in it what it needs.
	Reply json.RawMessage
}

// Card is a message as the bot means it; each channel lays it out with its own
// means. All strings are plain text: the channel escapes them, and shows bidi
// and invisible characters in the form U+202E (use Visible).
type Card struct {
	// Head is the first line. A card with a Head alone is a plain message.
	Head string
	// Facts are labelled lines in order: who, what, why, until when.
	Facts []Fact
	// Args are the arguments of the call, one line each.
	Args []Arg
	// Notes are closing lines: what approving does, the outcome of a decision.
	Notes []string
	// Buttons are rows of buttons; none on a closed card.
	Buttons [][]Button
	// Whole tells that all arguments of a request stand on the card, and that its
	// approving buttons rest on that. A channel whose message leaves any of them out
	// shows the card Unapproving.
	Whole bool
	// Silent delivers without ringing where the platform can.
	Silent bool
}

// Fact is one labelled line of a card. Code asks for a monospaced value; Quote
// marks words of somebody else (the agent's claim).
type Fact struct {
	Label, Value string
	Code, Quote  bool
}

// Arg is one argument of a call; Cut is how many characters of the value the
// renderer left out (0: it is whole).
type Arg struct {
	Name, Value string
	Cut         int
}

// ButtonStyle colours a button where the platform can.
type ButtonStyle string

const (
	Plain   ButtonStyle = ""
	Primary ButtonStyle = "primary"
	Danger  ButtonStyle = "danger"
)

// Button carries an opaque Token of at most 64 bytes (Telegram's limit on
// callback data) back to the bot.
type Button struct {
	Label string
	Token string
	Style ButtonStyle
	// Approves tells that pressing it approves.
	Approves bool
}

// Health is what an operator sees of a connection.
type Health struct {
	// Connected is true while the platform answers.
	Connected bool `json:"connected"`
	// Account is the bot's own name on the platform, once known.
	Account string `json:"account,omitempty"`
	// LastEvent is when the platform last delivered something, zero for never.
	LastEvent time.Time `json:"lastEvent,omitzero"`
	// Error is the last failure, empty when all is well. It holds no secrets.
	Error string `json:"error,omitempty"`
}

// Limits are in characters of the text a person sees.
type Limits struct {
	// Value is the most that one argument value may show on a card.
	Value int
	// Total is the most that a whole card may show.
	Total int
	// ButtonRow is the most buttons in one row.
	ButtonRow int
}

// Failures of a delivery that callers treat in their own way. Channels wrap
// them; all other errors are transient and the job tries again.
var (
	// ErrUnreachable: this person cannot be written to (blocked the bot, never
	// started it, was deactivated). Another route is needed.
	ErrUnreachable = errors.New("the person cannot be reached on this channel")
	// ErrGone: the message to edit does not exist any more or cannot be edited.
	ErrGone = errors.New("the message cannot be edited any more")
	// ErrSetup: the channel itself is set up wrongly (token refused or missing
	// a scope).
	ErrSetup = errors.New("the channel is not set up correctly")
)

// RetryError asks to come again not earlier than After (a platform's rate limit).
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string {
	return fmt.Sprintf("rate limited for %s: %v", e.After, e.Err)
}

func (e *RetryError) Unwrap() error { return e.Err }
