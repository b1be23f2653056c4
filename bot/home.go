package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/identity"
)

// homeArgs brings one person's page to what holds now.
type homeArgs struct {
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
}

// Kind names the job in River's table.
func (homeArgs) Kind() string { return "bot_home" }

func (a homeArgs) address() identity.Address {
	return identity.Address{Channel: a.Channel, Identity: a.Identity}
}

// openHome begins to keep a page for a person who opened it.
func (b *Bot) openHome(ctx context.Context, ch Channel, ev Event) error {
	if _, ok := ch.(Home); !ok {
		return fmt.Errorf("channel %s has no pages", ch.Namespace())
	}
	address := identity.Address{Channel: ch.Namespace(), Identity: ev.Identity}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO home_pages (channel, identity)
			VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, address.Channel, address.Identity)
		if err != nil {
			return fmt.Errorf("keep page: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return b.touchHomes(ctx, tx, address)
		}
		return b.queue(ctx, tx, homeArgs(address))
	})
}

// touchHomes tells that the pages of these people, where there are any, show
// something else now. A page that already waits to be shown waits once.
func (b *Bot) touchHomes(ctx context.Context, tx pgx.Tx, people ...identity.Address) error {
	var jobs []river.JobArgs
	people = slices.Clone(people) // in one order, so that none waits for another
	slices.SortFunc(people, func(a, b identity.Address) int { return strings.Compare(a.String(), b.String()) })
	for _, a := range slices.Compact(people) {
		var first bool
		err := tx.QueryRow(ctx, `
			UPDATE home_pages
			SET wanted = wanted + 1
			WHERE channel = $1
			  AND identity = $2
			RETURNING wanted = shown + 1`, a.Channel, a.Identity).Scan(&first)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return fmt.Errorf("touch page: %w", err)
		}
		if first {
			jobs = append(jobs, homeArgs(a))
		}
	}
	return b.queue(ctx, tx, jobs...)
}

// touchRequester is touchHomes of all addresses of a requester.
func (b *Bot) touchRequester(ctx context.Context, tx pgx.Tx, requesterID string, others ...identity.Address) error {
	addresses, err := identity.Addresses(ctx, tx, requesterID)
	if err != nil {
		return err
	}
	return b.touchHomes(ctx, tx, append(addresses, others...)...)
}

// homePause is how long changes gather that come while a page is being shown.
const homePause = time.Second

// homeWorker works homeArgs.
type homeWorker struct {
	river.WorkerDefaults[homeArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *homeWorker) Timeout(*river.Job[homeArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *homeWorker) NextRetry(job *river.Job[homeArgs]) time.Time { return retryAt(job.Attempt) }

// Work shows the page and comes again when it has changed meanwhile.
func (w *homeWorker) Work(ctx context.Context, job *river.Job[homeArgs]) error {
	b, a := w.bot, job.Args.address()
	c, err := b.connected(ctx, a.Channel)
	if err != nil || c == nil {
		return err
	}
	home, ok := c.Channel.(Home)
	if !ok {
		return nil
	}
	return b.turns.alone(ctx, "home "+a.String(), func() error {
		wanted, ok, err := b.pageWanted(ctx, a)
		if err != nil || !ok {
			return err
		}
		page, err := b.page(ctx, c.Channel, a)
		if err != nil {
			return err
		}
		err = home.ShowHome(ctx, a.Identity, page)
		if err != nil && !errors.Is(err, ErrUnreachable) { // a person without a page stays without
			return again(job, fmt.Errorf("show page: %w", err))
		}
		more, err := b.pageShown(context.WithoutCancel(ctx), a, wanted)
		if err != nil {
			return err
		}
		if more {
			return river.JobSnooze(homePause)
		}
		return nil
	})
}

// pageWanted is the newest change to show; ok is false when all are shown.
func (b *Bot) pageWanted(ctx context.Context, a identity.Address) (wanted int64, ok bool, err error) {
	err = b.Pool.QueryRow(ctx, `
		SELECT wanted
		FROM home_pages
		WHERE channel = $1
		  AND identity = $2
		  AND wanted > shown`, a.Channel, a.Identity).Scan(&wanted)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read page: %w", err)
	}
	return wanted, true, nil
}

// pageShown notes what is shown; more tells of changes since.
func (b *Bot) pageShown(ctx context.Context, a identity.Address, wanted int64) (more bool, err error) {
	err = b.Pool.QueryRow(ctx, `
		UPDATE home_pages
		SET shown = $3
		WHERE channel = $1
		  AND identity = $2
		RETURNING wanted > shown`, a.Channel, a.Identity, wanted).Scan(&more)
	if err != nil {
		return false, fmt.Errorf("note page: %w", err)
	}
	return more, nil
}

// page is what waits for a person, with the buttons of their cards, and how
// their own requests stand.
func (b *Bot) page(ctx context.Context, ch Channel, a identity.Address) (Page, error) {
	who, err := b.personOf(ctx, ch, Event{Identity: a.Identity})
	if err != nil {
		return Page{}, err
	}
	if len(who.roles) == 0 {
		return Page{Head: b.toStranger(who)}, nil
	}
	page := Page{Head: "Nothing waits for your decision."}
	if len(who.owns()) == 0 {
		page.Head = "Your requests stand here."
	}
	if err := b.pageCards(ctx, ch, who, &page); err != nil {
		return Page{}, err
	}
	asked, err := b.requests(ctx, line{ch: ch, who: who, cmd: b.find("requests")})
	page.Notes = append(page.Notes, asked)
	return page, err
}

// maxPageCards is how many cards a page shows; the others are counted.
const maxPageCards = 12

// pageLimits keep the cards of a page small: the whole of one is a tap away.
var pageLimits = Limits{Value: 300, Total: 1600, ButtonRow: 5}

// pageCards adds the open cards of a person to their page, the oldest first.
func (b *Bot) pageCards(ctx context.Context, ch Channel, who person, page *Page) error {
	candidates, err := b.openDeliveries(ctx, who)
	if err != nil {
		return err
	}
	waiting := 0
	for _, id := range candidates {
		d, r, ok, err := readDelivery(ctx, b.Pool, id)
		if err != nil {
			return err
		}
		if ok {
			if ok, err = b.isWanted(ctx, d, r); err != nil {
				return err
			}
		}
		if !ok {
			continue
		}
		waiting++
		if waiting <= maxPageCards {
			s := b.surface(ch, d, r, pageLimits)
			s.Shows = nil // it speaks of messages; ShowHome measures for itself
			page.Cards = append(page.Cards, Render(r, s))
		}
	}
	if waiting > 0 {
		page.Head = fmt.Sprintf("Waiting for your decision: %d", waiting)
	}
	if more := waiting - maxPageCards; more > 0 {
		page.Notes = append(page.Notes, fmt.Sprintf("%d more wait: send pending.", more))
	}
	return nil
}

// openDeliveries are the person's cards of open requests, sent or not: a page
// may reach whom a message did not.
func (b *Bot) openDeliveries(ctx context.Context, who person) ([]string, error) {
	rows, err := b.Pool.Query(ctx, `
		SELECT d.id
		FROM card_deliveries d
		JOIN approval_requests r ON r.id = d.request_id
		WHERE d.channel = $1
		  AND d.identity = $2
		  AND r.status = 'pending'
		ORDER BY r.id
		LIMIT $3`, who.Channel, who.Identity, maxPending)
	if err != nil {
		return nil, fmt.Errorf("list cards: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
