package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holm/internal/identity"
	"holm/policy"
)

// person is who typed a command: known, with roles, or a stranger.
type person struct {
	identity.Address
	name  string
	user  identity.User
	known bool
	roles []identity.AgentRole
}

// owns lists the agents whose requests the person may decide.
func (p person) owns() []string {
	var agents []string
	for _, r := range p.roles {
		if r.Role == policy.Owner {
			agents = append(agents, r.AgentID)
		}
	}
	return agents
}

// handleText does what was typed and replies to the person: in the direct
// chat, wherever the command was typed, so that no group reads along. An
// internal failure is given back to be tried again, and told when it is the
// last.
func (b *Bot) handleText(ctx context.Context, ch Channel, ev Event, last bool) error {
	reply, err := b.replyTo(ctx, ch, ev)
	if err != nil && !last {
		return err
	}
	if err != nil {
		reply = "This could not be done. Please send it again."
	}
	to := Recipient{Identity: ev.Identity}
	if ev.Direct {
		to.ReplyTo = ev.Message
	}
	for _, part := range pieces(reply, max(ch.Limits().Total, 1)) {
		if failed := b.say(ctx, ch, to, part); failed != nil {
			return errors.Join(err, fmt.Errorf("reply: %w", failed))
		}
	}
	return err
}

func (b *Bot) replyTo(ctx context.Context, ch Channel, ev Event) (string, error) {
	who, err := b.personOf(ctx, ch, ev)
	if err != nil {
		return "", err
	}
	return b.command(ctx, ch, ev, who)
}

func (b *Bot) personOf(ctx context.Context, ch Channel, ev Event) (person, error) {
	p := person{
		Address: identity.Address{Channel: ch.Namespace(), Identity: ev.Identity},
		name:    oneLine(ev.Name, maxName),
	}
	var err error
	if p.user, p.known, err = identity.FindUser(ctx, b.Pool, p.Address); err != nil || !p.known {
		return p, err
	}
	p.roles, err = identity.RolesOf(ctx, b.Pool, p.user.ID)
	return p, err
}

// command gives the reply to one line. Its errors are internal ones: the
// command is then tried again.
func (b *Bot) command(ctx context.Context, ch Channel, ev Event, who person) (string, error) {
	words := strings.Fields(ev.Text)
	verb := "help"
	if len(words) > 0 {
		verb = strings.ToLower(strings.TrimPrefix(words[0], "/"))
		words = words[1:]
	}
	if (verb == "start" || verb == "link") && len(words) > 0 {
		return b.redeem(ctx, ev, who, words[0])
	}
	if len(who.roles) == 0 {
		return b.toStranger(who), nil
	}
	switch verb {
	case "link":
		return "Send: link TOKEN, with the token of an invitation.", nil
	case "start":
		return b.start(ctx, who)
	case "whoami":
		return whoami(who), nil
	case "pending", "approve", "reject":
		return b.ownerCommand(ctx, ch, who, verb, words)
	}
	return b.help(who), nil
}

// toStranger says what somebody without a role may know.
func (b *Bot) toStranger(who person) string {
	return fmt.Sprintf("This bot is private. An owner of agent %s can invite you. You are %s.", b.Agent, VisibleLine(who.String()))
}

func whoami(who person) string {
	lines := []string{fmt.Sprintf("You are %s (%s).", oneLine(who.user.Name, maxName), VisibleLine(who.String()))}
	for _, r := range who.roles {
		lines = append(lines, fmt.Sprintf("You are %s of agent %s.", r.Role, r.AgentID))
	}
	return strings.Join(lines, "\n")
}

func (b *Bot) help(who person) string {
	lines := []string{"whoami: who you are here", "link TOKEN: accept an invitation", "help: this text"}
	if len(who.owns()) > 0 {
		lines = slices.Concat([]string{
			"pending: what waits for a decision",
			"approve N: allow one call; approve N hour: allow it for a time; approve N always: allow it for good (approve N always these: with these arguments alone)",
			"reject N REASON: refuse; the reason is passed on",
		}, lines)
	}
	if b.PublicURL != "" {
		lines = append(lines, "This is the bot of the Holm at "+b.PublicURL)
	}
	return strings.Join(lines, "\n")
}
