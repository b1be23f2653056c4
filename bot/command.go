package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/fault"
)

// audience says to whom a command is offered.
type audience int

const (
	// members are all who have a role with some agent.
	members audience = iota
	// owners are those who own one.
	owners
	// reviewers are owners, and those whom the rule of an open request names.
	reviewers
)

// command is one thing that people may type.
type command struct {
	name string
	who  audience
	// usage is what stands behind the name, empty for nothing: such a name with
	// words behind it is the beginning of a sentence, and no command.
	usage string
	// help is one line.
	help string
	// do gives the reply, or none when it has been queued. A misuse or a
	// fault.Error is told to the person; other errors are internal ones, and the
	// command is then tried again.
	do func(b *Bot, ctx context.Context, l line) (string, error)
	// public replies go where the command was typed; all others tell what is the
	// person's alone, and go to their direct chat.
	public bool
}

// shape is the command as it is typed.
func (c *command) shape() string { return strings.TrimSpace(c.name + " " + c.usage) }

// line is one typed command, taken apart.
type line struct {
	ch Channel
	ev Event
	// event is the stored event the line came with.
	event inboxArgs
	who   person
	cmd   *command
	// agent is the one named by @agent, empty for none.
	agent string
	// rest is what stands behind the name and the agent, words the same in parts.
	rest  string
	words []string
}

// misuse says what is wrong with the words of a command. The person is told,
// with how the command is used.
type misuse string

func (m misuse) Error() string { return string(m) }

func misusef(format string, args ...any) error { return misuse(fmt.Sprintf(format, args...)) }

// handleText does what was typed and replies to the person: in the direct
// chat, wherever the command was typed, so that no group reads along. An
// internal failure is given back to be tried again, and told when it is the
// last.
func (b *Bot) handleText(ctx context.Context, ch Channel, ev Event, event inboxArgs, last bool) error {
	l := line{ch: ch, ev: ev, event: event}
	if ev.Unread {
		if err := b.tellUnread(ctx, l); err != nil || ev.Text == "" {
			return err
		}
	}
	reply, err := caught.Do(b.Log, "text", func() (string, error) { return b.replyTo(ctx, &l) })
	if retried(err, last) {
		return err
	}
	if err != nil {
		reply = "This could not be done. Please send it again."
	}
	return errors.Join(err, b.reply(ctx, l, reply))
}

// replyInPlace tells whether the reply may be read where the line was typed.
func (l line) replyInPlace() bool { return l.ev.Direct || l.cmd != nil && l.cmd.public }

// reply sends the reply and, where the command was typed in a group, a word
// there that tells where to look for it.
func (b *Bot) reply(ctx context.Context, l line, reply string) error {
	to := Recipient{Identity: l.ev.Identity}
	if l.replyInPlace() {
		to.ReplyTo = l.ev.Message
	}
	hint := "I answer in your own chat with me."
	for _, part := range pieces(reply, max(l.ch.Limits().Total, 1)) {
		if part == "" {
			break // it is on its way
		}
		_, err := l.ch.Send(ctx, to, Card{Head: part})
		if errors.Is(err, ErrUnreachable) {
			hint = "I cannot write to you. Open a chat with me first, then ask again."
			break
		}
		if err != nil {
			return fmt.Errorf("reply: %w", err)
		}
	}
	if l.replyInPlace() || l.ev.Message.Chat == "" {
		return nil
	}
	if err := b.say(ctx, l.ch, Recipient{Identity: l.ev.Identity, ReplyTo: l.ev.Message}, hint); err != nil {
		return fmt.Errorf("reply in a group: %w", err)
	}
	return nil
}

func (b *Bot) replyTo(ctx context.Context, l *line) (string, error) {
	if text, ok, err := b.promptAnswer(ctx, l); ok || err != nil {
		return text, err
	}
	var err error
	if l.who, err = b.personOf(ctx, l.ch, l.ev); err != nil {
		return "", err
	}
	return b.command(ctx, l)
}

// command gives the reply to one text. Its errors are internal ones.
func (b *Bot) command(ctx context.Context, l *line) (string, error) {
	verb, rest := firstWord(l.ev.Text)
	slash := l.ev.Command || strings.HasPrefix(verb, "/")
	verb = strings.ToLower(strings.TrimPrefix(verb, "/"))
	if (verb == "start" || verb == "link") && rest != "" {
		token, _ := firstWord(rest)
		return b.redeem(ctx, l.ev, l.who, token)
	}
	if reply, ok, err := b.answerLink(ctx, *l, verb, rest); ok || err != nil {
		return reply, err
	}
	if len(l.who.roles) == 0 {
		if reply, err := b.welcome(ctx, l); reply != "" || err != nil {
			return reply, err
		}
	}
	if l.cmd = b.find(cmp.Or(verb, "help")); l.cmd == nil && slash {
		return b.unknown(l.who, verb), nil
	}
	answered, err := b.cardAnswered(ctx, l)
	if err != nil {
		return "", err
	}
	l.read(rest)
	l.nameRequest(answered)
	if l.cmd == nil || !slash && l.rest != "" && (l.cmd.usage == "" || l.cmd.usage == "[@AGENT]") {
		if reply, ok, err := b.nod(ctx, *l, answered); ok || err != nil {
			return reply, err
		}
		l.cmd = b.find("say")
		l.read(l.ev.Text)
	}
	return b.obey(ctx, *l)
}

// read takes the agent's name off the words behind a command.
func (l *line) read(rest string) {
	l.agent = ""
	if word, behind := firstWord(rest); len(word) > 1 && word[0] == '@' {
		l.agent, rest = word[1:], behind
	}
	l.rest, l.words = strings.TrimSpace(rest), strings.Fields(rest)
}

// obey does one command.
func (b *Bot) obey(ctx context.Context, l line) (string, error) {
	if len(l.who.agents(l.cmd.who)) == 0 {
		return refusals[l.cmd.who], nil
	}
	reply, err := l.cmd.do(b, ctx, l)
	if wrong, ok := errors.AsType[misuse](err); ok {
		return fmt.Sprintf("%s\nUsage: %s", wrong, l.cmd.shape()), nil
	}
	if f, ok := fault.As(err); ok && told[f.Kind] {
		return sentence(f.Message), nil
	}
	return reply, err
}

// refusals are what people outside of an audience are told.
var refusals = map[audience]string{
	owners:    "Only an owner of an agent can do that.",
	reviewers: "Only an owner of an agent can do that, or somebody whom a rule names.",
}

// told are the failures that a person can do something about.
var told = map[fault.Kind]bool{
	fault.Invalid: true, fault.NotFound: true, fault.Forbidden: true, fault.Conflict: true, fault.Gone: true,
}

// firstWord parts a text at its first white space.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	at := strings.IndexAny(text, " \t\r\n")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// oneAgent is the agent that a command is about: the one named, else the
// agent of the channels, else the only one; never a guess among several.
func (b *Bot) oneAgent(l line) (string, error) {
	agents := l.who.agents(l.cmd.who)
	switch {
	case l.agent != "" && slices.Contains(agents, l.agent):
		return l.agent, nil
	case l.agent != "" && l.cmd.who != members:
		return "", misusef("You are no owner of an agent %s.", oneLine(l.agent, maxName))
	case l.agent != "":
		return "", misusef("You are no member of an agent %s.", oneLine(l.agent, maxName))
	case slices.Contains(agents, b.agentOf(l.who.Channel)):
		return b.agentOf(l.who.Channel), nil
	case len(agents) == 1:
		return agents[0], nil
	}
	return "", misusef("Which agent? Send: %s @%s …", l.cmd.name, agents[0])
}

// effect is what a command that changes something leaves behind.
type effect struct {
	// reply is told to the person, empty for nothing.
	reply string
	// wakes are published after the commit.
	wakes []string
}

// once makes what a command changes and its reply one transaction with the
// note that its event was handled: an event that is handled again, after a
// crash or beside another process, changes nothing and says nothing more.
func (b *Bot) once(ctx context.Context, l line, do func(tx pgx.Tx) (effect, error)) (string, error) {
	wakes := []string{audit.QueuedKey}
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE inbox
			SET handled_at = now()
			WHERE channel = $1
			  AND event_id = $2
			  AND handled_at IS NULL`, l.event.Channel, l.event.EventID)
		if err != nil {
			return fmt.Errorf("mark event handled: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		done, err := do(tx)
		wakes = append(wakes, done.wakes...)
		if err != nil || done.reply == "" {
			return err
		}
		n := noticeArgs{Channel: l.event.Channel, Identity: l.ev.Identity, Text: done.reply}
		if l.replyInPlace() {
			n.ReplyTo = l.ev.Message
		}
		return b.queue(ctx, tx, n)
	})
	if err == nil {
		b.Hub.Publish(wakes...)
	}
	return "", err
}

// unknown answers a text that is no command.
func (b *Bot) unknown(who person, verb string) string {
	text := fmt.Sprintf("There is no command %s.", quoted(verb))
	if near := b.nearest(verb, who); near != nil {
		text += fmt.Sprintf(" Did you mean: %s?", near.shape())
	}
	return text + " Send help for what there is."
}
