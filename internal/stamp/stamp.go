// Package stamp writes times for people: in chats, cards, errors, tool results
// and terminals alike. They are UTC and say so, since those who speak about a
// request sit in different zones. Programs get RFC 3339 by JSON's own form.
package stamp

import "time"

// Minute is a day and a time, as in 2026-03-04 15:04 UTC.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Second is for lists in which several things happen in a minute.
func Second(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Clock is a time of a day that goes without saying.
func Clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }
