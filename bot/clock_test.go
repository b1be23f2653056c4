package bot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/bot"
)

func TestTimesAreToldToTheirReader(t *testing.T) {
	oslo := must(time.LoadLocation("Europe/Oslo"))
	for _, c := range []struct {
		clock bot.Clock
		at    time.Time
		want  string
	}{
		{bot.Clock{}, noon, "2026-03-04 12:00 UTC"},
		{bot.Clock{Now: noon, Zone: oslo}, noon.Add(time.Hour), "14:00"},
		{bot.Clock{Now: noon, Zone: oslo}, noon.Add(11 * time.Hour), "5 Mar 00:00"},
		{bot.Clock{Now: noon, Zone: oslo}, noon.AddDate(1, 0, 0), "4 Mar 2027 13:00"},
		{bot.Clock{Now: noon}, noon.Add(55 * time.Minute), "12:55 UTC (in 55 min)"},
		{bot.Clock{Now: noon}, noon.Add(-3 * time.Hour), "09:00 UTC (3 h ago)"},
		{bot.Clock{Now: noon}, noon.Add(72 * time.Hour), "7 Mar 12:00 UTC (in 3 days)"},
	} {
		if got := c.clock.At(c.at); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	texts, times := bot.Times("by Bob at " + bot.Clock{Native: true}.At(noon) + ".")
	if !slices.Equal(texts, []string{"by Bob at ", "."}) || len(times) != 1 || !times[0].Equal(noon) {
		t.Errorf("%q %v", texts, times)
	}
	if texts, times := bot.Times("\ue000x\ue001 \ue0007"); len(times) != 0 || len(texts) != 1 {
		t.Errorf("%q %v", texts, times)
	}
}

// TestNobodyElseWritesTimes: a text of a caller is no time, whatever it holds.
func TestNobodyElseWritesTimes(t *testing.T) {
	mark := bot.Mark(1)
	r := open(`{"a":"` + mark + `"}`)
	r.RuleText, r.RequesterName = mark, mark
	s := surface
	s.Clock = bot.Clock{Native: true}
	card := bot.Render(r, s)
	for _, text := range append([]string{card.Head, card.Args[0].Value, card.Facts[0].Value, card.Facts[2].Value}, card.Notes...) {
		if _, times := bot.Times(text); len(times) > 0 {
			t.Errorf("a time in %q", text)
		}
	}
}

// TestACardIsInTheZoneOfItsReader: what a person said with quiet holds for cards,
// and the passing of time alone edits none.
func TestACardIsInTheZoneOfItsReader(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	w.says("ann", "quiet 22:00-07:00 +05:30")
	r := w.ask(`{"title":"hello"}`)
	deadline := func(who string) (value string) {
		m := w.card(who, r)
		w.chat.mu.Lock()
		defer w.chat.mu.Unlock()
		for _, f := range m.card.Facts {
			if f.Label == "Open until" {
				value = f.Value
			}
		}
		return value
	}
	zone := time.FixedZone("", 5*3600+1800)
	if got := deadline("ann"); !strings.HasSuffix(got, r.ExpiresAt.In(zone).Format("15:04")) || strings.Contains(got, "UTC") {
		t.Errorf("ann reads %q", got)
	}
	contains(t, deadline("bob"), r.ExpiresAt.UTC().Format("15:04 UTC"), "(in ")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
}
