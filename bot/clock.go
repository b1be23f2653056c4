package bot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holm/internal/stamp"
)

// Clock writes times for one reader. The zero Clock writes whole times in UTC.
type Clock struct {
	// Now is when the text is made; today's date is left out.
	Now time.Time
	// Zone is the reader's, nil where it is unknown: then it is also said how long
	// a time is from now.
	Zone *time.Location
	// Native tells that the platform itself writes times in its readers' zones; see
	// Times.
	Native bool
}

// At is t as it stands after "at", "until" and "since".
func (c Clock) At(t time.Time) string {
	switch {
	case c.Native:
		return Mark(t.Unix())
	case c.Now.IsZero():
		return stamp.Minute(t)
	case c.Zone != nil:
		return clockTime(t.In(c.Zone), c.Now.In(c.Zone))
	}
	return fmt.Sprintf("%s UTC (%s)", clockTime(t.UTC(), c.Now.UTC()), fromNow(t.Sub(c.Now)))
}

// clock writes times for somebody on ch who has named a zone, or none.
func (b *Bot) clock(ch Channel, zone string) Clock {
	_, native := ch.(Dater)
	c := Clock{Now: time.Now(), Zone: b.Zone, Native: native}
	if own, err := readZone(zone); err == nil {
		c.Zone = own
	}
	return c
}

// clockTime leaves out of t what it shares with now.
func clockTime(t, now time.Time) string {
	switch {
	case t.Year() != now.Year():
		return t.Format("2 Jan 2006 15:04")
	case t.YearDay() != now.YearDay():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("15:04")
}

func fromNow(d time.Duration) string {
	if d < 0 {
		return roughly(-d) + " ago"
	}
	return "in " + roughly(d)
}

// roughly is a span of time in its largest unit.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than 1 min"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d.Round(time.Hour)/time.Hour)
	}
	return fmt.Sprintf("%d days", d.Round(24*time.Hour)/(24*time.Hour))
}

// took is how long something went on.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d.Milliseconds(), 1))
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// A time for the platform to write stands between these two in facts and notes.
// Texts of others cannot hold them: Visible spells private characters out.
const (
	TimeMark = '\ue000'
	timeEnd  = "\ue001"
)

// Mark is a time for the platform to write, in Unix seconds.
func Mark(unix int64) string { return string(TimeMark) + strconv.FormatInt(unix, 10) + timeEnd }

// Dater is a capability: the channel writes times in its readers' own zones; it
// finds them in facts and notes with Times.
type Dater interface {
	// WritesTimes does nothing; it marks the channel.
	WritesTimes()
}

// Times parts a fact's value or a note of a card into its texts and the times
// between them: each time stands after the text of the same index.
func Times(s string) (texts []string, times []time.Time) {
	for {
		before, rest, marked := strings.Cut(s, string(TimeMark))
		digits, after, ended := strings.Cut(rest, timeEnd)
		seconds, err := strconv.ParseInt(digits, 10, 64)
		if !marked || !ended || err != nil {
			return append(texts, s), times
		}
		texts, times = append(texts, before), append(times, time.Unix(seconds, 0))
		s = after
	}
}
