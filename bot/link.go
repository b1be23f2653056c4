package bot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/linking"
	"holm/internal/stamp"
)

// link gives a token for another account of the person; with a token the
// command is taken by redeem.
func (b *Bot) link(ctx context.Context, l line) (string, error) {
	if !l.ev.Direct {
		return "Linking works only in your own chat with me.", nil
	}
	token, err := linking.New(b.Approvals).Request(ctx, b.agentOf(l.who.Channel), linking.Side{UserID: l.who.user.ID, Address: l.who.Address})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("From the account that you want to link to %s, send me within 10 minutes:\n\nlink %s\n\n"+
		"I then ask both of you. Give this to nobody: whoever is linked acts as you.", VisibleLine(l.who.String()), token), nil
}

// presentLink takes a token of another account; one that is none of those fails
// with link_invalid.
func (b *Bot) presentLink(ctx context.Context, who person, token string) error {
	_, err := linking.New(b.Approvals).Present(ctx, token, linking.Side{UserID: who.user.ID, Address: who.Address}, who.name)
	return err
}

// answerLink takes yes and no of somebody who is asked whether to link, where they
// said that they want to; ok is false for other words, and when nothing is asked.
func (b *Bot) answerLink(ctx context.Context, l line, verb, rest string) (reply string, ok bool, err error) {
	yes := verb == "yes"
	final := yes && strings.EqualFold(rest, "owner")
	if !l.who.known || !l.ev.Direct || verb != "yes" && verb != "no" || rest != "" && !final {
		return "", false, nil
	}
	dialog, ok, err := linking.New(b.Approvals).Open(ctx, l.who.user.ID, l.who.Address)
	if err != nil || !ok {
		return "", false, err
	}
	done := func() {}
	reply, err = b.once(ctx, l, func(tx pgx.Tx) (e effect, err error) {
		var d linking.Dialog
		d, done, err = linking.New(b.Approvals).Answer(ctx, tx, linking.Answer{DialogID: dialog, UserID: l.who.user.ID, Yes: yes, Final: final})
		e.reply = linkState(d)
		return e, err
	})
	if f, isFault := fault.As(err); isFault && told[f.Kind] {
		return sentence(f.Message), true, nil
	}
	if err == nil {
		done()
	}
	return reply, true, err
}

// linkState tells a side what came of its answer.
func linkState(d linking.Dialog) string {
	switch {
	case d.State == linking.Undone:
		return "Undone: both accounts are as they were."
	case d.State == linking.Refused:
		return "Noted: the accounts stay apart."
	case d.State == linking.Linked:
		return "Noted: the accounts are linked."
	case d.A.Yes == 0 || d.B.Yes == 0:
		return "Noted. The other side has to say yes too."
	}
	return "Noted. Whoever owns an agent is asked once more."
}

// tapLink does what a button of a question or a piece of news says.
func (b *Bot) tapLink(ctx context.Context, ch Channel, ev Event) (string, error) {
	to := address(ch.Namespace(), ev.Identity)
	btn, ok := linking.ReadButton(b.Keeper, to, ev.Token)
	user, known, err := identity.FindUser(ctx, b.Pool, to)
	if err != nil {
		return "", err
	}
	if !ok || !known {
		return "This button is not one of yours. Nothing was changed.", nil
	}
	d, err := linking.New(b.Approvals).Press(ctx, btn, user.ID)
	if f, isFault := fault.As(err); isFault && told[f.Kind] {
		return sentence(f.Message), nil
	}
	return linkState(d), err
}

// unlink undoes a merge of the person: the one named, or the only one of the
// last day.
func (b *Bot) unlink(ctx context.Context, l line) (string, error) {
	if len(l.words) > 0 {
		number, err := strconv.ParseInt(strings.TrimPrefix(l.words[0], "#"), 10, 64)
		if err != nil || number <= 0 || len(l.words) > 1 {
			return "", misusef("That is not the number of a link.")
		}
		return b.undo(ctx, number, l.who.user.ID)
	}
	merges, err := identity.Merges(ctx, b.Pool, l.who.user.ID)
	if err != nil {
		return "", err
	}
	var open []string
	for _, m := range merges {
		if m.ReadAt.Sub(m.MergedAt) < identity.UndoTTL {
			open = append(open, fmt.Sprintf("undo %d: linked at %s", m.Number, stamp.Minute(m.MergedAt)))
		}
	}
	switch len(open) {
	case 0:
		return "Nothing was linked within a day. An owner or the operator can part what was linked before.", nil
	case 1:
		return b.undo(ctx, merges[0].Number, l.who.user.ID)
	}
	return "Which one?\n" + strings.Join(open, "\n"), nil
}

// undo takes a merge back. Done before, it is done.
func (b *Bot) undo(ctx context.Context, number int64, userID string) (string, error) {
	_, err := linking.New(b.Approvals).UndoOwn(ctx, number, userID)
	if err != nil && !fault.Is(err, "undone_already") {
		return "", err
	}
	return fmt.Sprintf("Undone: link %d. Both accounts are as they were.", number), nil
}
