package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/stamp"
	"holm/policy"
)

// quietTime is when a person's cards come silently. From and To are minutes of
// the day in Zone, nil for no quiet hours.
type quietTime struct {
	MutedUntil *time.Time
	From, To   *int16
	Zone       string
	// Now is the time of the look, by the database's clock.
	Now time.Time
}

// holds tells whether cards come silently now.
func (q quietTime) holds() bool {
	if q.MutedUntil != nil && q.Now.Before(*q.MutedUntil) {
		return true
	}
	zone, err := readZone(q.Zone)
	if q.From == nil || err != nil {
		return false
	}
	local := q.Now.In(zone)
	minute := int16(local.Hour()*60 + local.Minute())
	if *q.From <= *q.To {
		return *q.From <= minute && minute < *q.To
	}
	return minute >= *q.From || minute < *q.To // over midnight
}

// describe says it in sentences, none when nothing is set.
func (q quietTime) describe() (lines []string) {
	if q.MutedUntil != nil && q.Now.Before(*q.MutedUntil) {
		lines = append(lines, fmt.Sprintf("Cards come silently until %s, those of high risk ring.", stamp.Minute(*q.MutedUntil)))
	}
	if q.From != nil {
		lines = append(lines, fmt.Sprintf("Cards come silently each day from %02d:%02d to %02d:%02d %s, those of high risk ring.",
			*q.From/60, *q.From%60, *q.To/60, *q.To%60, q.Zone))
	}
	return lines
}

// quietTimeOf is that of the person behind an address.
func quietTimeOf(ctx context.Context, q db.Queryer, a identity.Address) (t quietTime, err error) {
	err = q.QueryRow(ctx, `
		SELECT t.muted_until, t.quiet_from, t.quiet_to, t.zone, clock_timestamp()
		FROM user_identities i
		JOIN users u ON u.id = i.user_id
		JOIN quiet_times t ON t.user_id = COALESCE(u.merged_into, u.id)
		WHERE i.channel = $1
		  AND i.channel_user_id = $2`, a.Channel, a.Identity).Scan(&t.MutedUntil, &t.From, &t.To, &t.Zone, &t.Now)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return t, fmt.Errorf("read quiet time: %w", err)
	}
	return t, nil
}

// silent tells whether a card, or a reminder of it, is to come silently.
func (b *Bot) silent(ctx context.Context, d delivery, r approvals.Request) (bool, error) {
	if r.Settings.Risk == policy.RiskHigh {
		return false, nil
	}
	return b.isQuiet(ctx, d.address())
}

// isQuiet tells whether it is the quiet time of the person behind an address.
func (b *Bot) isQuiet(ctx context.Context, a identity.Address) (bool, error) {
	q, err := quietTimeOf(ctx, b.Pool, a)
	return q.holds(), err
}

// maxMute bounds mute: what lasts longer is a setting, not a pause.
const maxMute = 7 * 24 * time.Hour

// mute silences cards for a while.
func (b *Bot) mute(ctx context.Context, l line) (string, error) {
	d, err := time.ParseDuration(strings.ToLower(l.rest))
	var seconds *float64
	switch {
	case strings.EqualFold(l.rest, "off"):
	case err != nil || d <= 0:
		return "", misuse("For how long? Say for example 30m, 1h or 8h, or off.")
	case d > maxMute:
		return "", misuse("That is longer than a week (168h). For every day there is quiet.")
	default:
		seconds = new(d.Seconds())
	}
	return b.once(ctx, l, func(tx pgx.Tx) (effect, error) {
		var until *time.Time
		err := tx.QueryRow(ctx, `
			INSERT INTO quiet_times (user_id, muted_until)
			VALUES ($1, clock_timestamp() + $2 * interval '1 second')
			ON CONFLICT (user_id) DO UPDATE
			SET muted_until = excluded.muted_until
			RETURNING muted_until`, l.who.user.ID, seconds).Scan(&until)
		if err != nil {
			return effect{}, fmt.Errorf("store mute: %w", err)
		}
		if until == nil {
			return effect{reply: "Cards ring again."}, nil
		}
		return effect{reply: fmt.Sprintf("Cards come silently until %s; those of high risk still ring.", stamp.Minute(*until))}, nil
	})
}

// quiet sets hours of each day in which cards come silently.
func (b *Bot) quiet(ctx context.Context, l line) (string, error) {
	q, err := quietTimeOf(ctx, b.Pool, l.who.Address)
	if err != nil {
		return "", err
	}
	reply := "There are no quiet hours any more."
	q.From, q.To = nil, nil
	if !strings.EqualFold(l.rest, "off") {
		if err := q.read(l.words); err != nil {
			return "", err
		}
		reply = strings.Join(quietTime{From: q.From, To: q.To, Zone: q.Zone}.describe(), " ")
	}
	return b.once(ctx, l, func(tx pgx.Tx) (effect, error) {
		_, err := tx.Exec(ctx, `
			INSERT INTO quiet_times (user_id, quiet_from, quiet_to, zone)
			VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id) DO UPDATE
			SET quiet_from = $2,
			    quiet_to = $3,
			    zone = $4`, l.who.user.ID, q.From, q.To, q.Zone)
		if err != nil {
			return effect{}, fmt.Errorf("store quiet hours: %w", err)
		}
		return effect{reply: reply}, nil
	})
}

// read takes 22:00-07:00 and a zone; without one that of before holds, or UTC.
func (q *quietTime) read(words []string) error {
	if len(words) == 0 || len(words) > 2 {
		return misuse("When? Say for example 22:00-07:00 Europe/Oslo, 22:00-07:00 +02:00, or off.")
	}
	from, to, _ := strings.Cut(words[0], "-")
	begin, errBegin := time.Parse("15:04", from)
	end, errEnd := time.Parse("15:04", to)
	if errBegin != nil || errEnd != nil || begin.Equal(end) {
		return misuse("When? Say two different times of the day, for example 22:00-07:00.")
	}
	if len(words) == 2 {
		q.Zone = words[1]
	}
	if q.Zone == "" {
		q.Zone = "UTC"
	}
	if _, err := readZone(q.Zone); err != nil {
		return misusef("I know no time zone “%s”. Say an offset such as +02:00, or a name such as Europe/Oslo.", oneLine(q.Zone, maxName))
	}
	minute := func(t time.Time) *int16 { m := int16(t.Hour()*60 + t.Minute()); return &m }
	q.From, q.To = minute(begin), minute(end)
	return nil
}

// readZone reads an offset from UTC or a name of the IANA database.
func readZone(name string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", strings.TrimPrefix(name, "UTC")); err == nil {
		return t.Location(), nil
	}
	if name == "" || name == "Local" {
		return nil, fault.Invalidf("no time zone")
	}
	return time.LoadLocation(name)
}
