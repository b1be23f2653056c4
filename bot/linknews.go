package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/linking"
	"holm/internal/stamp"
)

// linkNewsWorker works linking.NewsArgs.
type linkNewsWorker struct {
	river.WorkerDefaults[linking.NewsArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *linkNewsWorker) Timeout(*river.Job[linking.NewsArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *linkNewsWorker) NextRetry(job *river.Job[linking.NewsArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work sends the news, with a button that undoes a merge.
func (w *linkNewsWorker) Work(ctx context.Context, job *river.Job[linking.NewsArgs]) error {
	a, b := job.Args, w.bot
	card := Card{Head: Visible(a.Text)}
	if a.Merge != 0 {
		undo := linking.Button{Action: linking.Undo, Merge: a.Merge}
		card.Buttons = [][]Button{{{Label: "Undo", Token: undo.Token(b.Keeper, address(a.Channel, a.Identity)), Style: Danger}}}
	}
	if err := b.sendOnce(ctx, a.AgentID, a.Channel, a.Identity, card); err != nil {
		return again(job, err)
	}
	return nil
}

// linkQuestionWorker works linking.QuestionArgs.
type linkQuestionWorker struct {
	river.WorkerDefaults[linking.QuestionArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *linkQuestionWorker) Timeout(*river.Job[linking.QuestionArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *linkQuestionWorker) NextRetry(job *river.Job[linking.QuestionArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work puts the question, unless it is over meanwhile.
func (w *linkQuestionWorker) Work(ctx context.Context, job *river.Job[linking.QuestionArgs]) error {
	card, ok, err := w.bot.linkQuestion(ctx, job.Args)
	if err != nil || !ok {
		return err
	}
	if err := w.bot.sendOnce(ctx, job.Args.AgentID, job.Args.Channel, job.Args.Identity, card); err != nil {
		return again(job, err)
	}
	return nil
}

func (b *Bot) linkQuestion(ctx context.Context, q linking.QuestionArgs) (card Card, ok bool, err error) {
	links := linking.New(b.Approvals)
	d, err := links.Get(ctx, q.DialogID)
	if isKnown(err, fault.Gone) || err == nil && d.State != linking.Presented {
		return card, false, nil
	}
	if err != nil {
		return card, false, err
	}
	one, other, err := links.Describe(ctx, d)
	if err != nil {
		return card, false, err
	}
	card = Card{
		Head:  "Are these two accounts yours? They would become one person.",
		Facts: []Fact{{Label: "Asked by", Value: one}, {Label: "Answered by", Value: other}},
		Notes: []string{"Each can then do what either could, and both are told. Say no if one is not yours: nobody needs your help to link their own.",
			"Tap, or send yes or no. Until " + stamp.Minute(d.ExpiresAt) + "."},
	}
	yes := linking.Button{Action: linking.Yes, DialogID: d.ID}
	label := "Yes, both are mine"
	if q.Final {
		card.Head = "Last question: one of these accounts owns an agent. Linked, the other approves in its name."
		card.Notes[1] = "Tap, or send: yes owner, or no. Until " + stamp.Minute(d.ExpiresAt) + "."
		yes.Action, label = linking.FinalYes, "Yes, let it approve as me"
	}
	to := address(q.Channel, q.Identity)
	if d.A.Address != to && d.B.Address != to { // a key began it: words are not taken
		card.Notes[1] = "An agent's key asks this in your name. Tap. Until " + stamp.Minute(d.ExpiresAt) + "."
	}
	no := linking.Button{Action: linking.No, DialogID: d.ID}
	card.Buttons = [][]Button{{
		{Label: label, Token: yes.Token(b.Keeper, to), Style: Primary},
		{Label: "No", Token: no.Token(b.Keeper, to), Style: Danger},
	}}
	return card, true, nil
}

func address(channel, who string) identity.Address {
	return identity.Address{Channel: channel, Identity: who}
}

// sendOnce sends a card to one address. Somebody who cannot be reached, or whose
// channel is gone, is told nothing.
func (b *Bot) sendOnce(ctx context.Context, agentID, channel, who string, card Card) error {
	ch, err := b.channel(ctx, channel, agentID)
	if err != nil || ch == nil {
		return err
	}
	_, err = ch.Send(ctx, Recipient{Identity: who}, card)
	if errors.Is(err, ErrUnreachable) {
		b.Log.Info("a person could not be reached", "channel", channel)
		return nil
	}
	if err != nil {
		return fmt.Errorf("send about a link: %w", err)
	}
	return nil
}
