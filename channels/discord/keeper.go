package discord

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
	"holm/internal/caught"
)

// storeTimeout leaves something of Discord's three seconds.
const storeTimeout = 2500 * time.Millisecond

// keeper stores events in the inbox, one after the other as they come, and gives
// interactions a provisional answer where no true one comes in time.
type keeper struct {
	ctx     context.Context // of Run; a keeper lives no longer
	channel *Channel
	inbox   bot.Inbox
	tasks   sync.WaitGroup
}

func newKeeper(ctx context.Context, c *Channel, in bot.Inbox) *keeper {
	return &keeper{ctx: ctx, channel: c, inbox: in}
}

func (k *keeper) wait() { k.tasks.Wait() }

// keep stores an event that concerns somebody. An interaction is answered after
// that: one that could not be stored shows its person that it failed, which is
// true. What concerns nobody, as the talk in servers, is not stored. The token
// in an interaction is kept with it: the answer may come from another process. It
// is good for that answer alone, for a quarter of an hour.
func (k *keeper) keep(kind string, payload json.RawMessage) error {
	came := time.Now()
	stored, err := json.Marshal(kept{Type: kind, Payload: payload})
	if err != nil {
		return nil // it is no JSON: nothing can come of it
	}
	ev, ok, err := k.channel.Decode(stored)
	if err == nil && !ok {
		return nil
	}
	id := eventID(kind, payload)
	if id == "" {
		k.channel.log.Warn("discord event without an id", "type", kind)
		return nil
	}
	ctx, cancel := context.WithTimeout(k.ctx, storeTimeout)
	defer cancel()
	if err := k.inbox.Store(ctx, namespace, bot.Incoming{ID: id, Payload: stored}); err != nil {
		if k.ctx.Err() == nil {
			k.channel.log.Error("discord event not stored, so the session goes back to it", "event_id", id, "error", err)
		}
		return errNotStored
	}
	k.channel.link.delivered()
	if kind == interactionCreate {
		k.acknowledge(ev, came)
	}
	return nil
}

var errNotStored = errors.New("discord: an event could not be stored")

// eventID is the same for each delivery of one event.
func eventID(kind string, payload json.RawMessage) string {
	var p struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(payload, &p) != nil || !snowflake.MatchString(p.ID) {
		return ""
	}
	return map[string]string{messageCreate: "message:", interactionCreate: "interaction:"}[kind] + p.ID
}

// acknowledge answers an interaction that is stored: a command and a form at
// once, since what comes of them is a direct message; a tap when its true
// answer takes long. All processes with this token get each interaction and the
// first answer counts, so a refusal is no fault.
func (k *keeper) acknowledge(ev bot.Event, came time.Time) {
	r, err := replyOf(ev)
	if err != nil {
		return
	}
	wait := time.Duration(0)
	answer := func(ctx context.Context) error { return k.channel.settle(ctx, r) }
	switch discordgo.InteractionType(r.Type) {
	case discordgo.InteractionMessageComponent:
		wait = k.channel.pauses.ack - time.Since(came)
	case discordgo.InteractionApplicationCommand:
		answer = func(ctx context.Context) error { return k.channel.received(ctx, r) }
	}
	pending, cancel := context.WithCancel(k.ctx)
	k.channel.taps.Store(r.ID, cancel)
	caught.Go(&k.tasks, k.channel.log, "discord answer", func() {
		defer cancel()
		_ = pause(pending, wait)
		if _, open := k.channel.taps.LoadAndDelete(r.ID); !open {
			return // it was answered meanwhile
		}
		// At the end of Run too: another process goes on with what is stored.
		ctx, stop := context.WithTimeout(context.WithoutCancel(k.ctx), storeTimeout)
		defer stop()
		if err := answer(ctx); err != nil {
			k.channel.log.Warn("a discord interaction got no provisional answer", "error", err)
		}
	})
}

// received is the first answer to a command, for its person alone.
func (c *Channel) received(ctx context.Context, r reply) error {
	err := c.respond(ctx, r, discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{
			Content: "Holm has it. The answer comes as a direct message.", Flags: discordgo.MessageFlagsEphemeral, AllowedMentions: nobody(),
		},
	})
	if refusedWith(err, discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged) {
		return nil
	}
	return tooLate(err)
}
