package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"holm/bot"
	"holm/internal/stamp"
)

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// table writes rows under a head, in columns.
func table(w io.Writer, head string, rows func(row func(cells ...any))) {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, strings.ReplaceAll(head, " ", "\t"))
	rows(func(cells ...any) {
		texts := make([]string, len(cells))
		for i, cell := range cells {
			texts[i] = oneLine(fmt.Sprint(cell))
		}
		fmt.Fprintln(columns, strings.Join(texts, "\t"))
	})
	_ = columns.Flush()
}

// oneLine shows a text that others wrote: nothing in it moves the cursor,
// hides itself or begins a new line.
func oneLine(text string) string {
	return bot.VisibleLine(strings.TrimRight(text, "\n"))
}

// indented shows JSON that others wrote, indented.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "  ", "  "); err != nil {
		return oneLine(string(raw))
	}
	return bot.Visible(b.String())
}

// when shows a time, if there is one.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return stamp.Minute(t)
}

// orDash shows what is absent.
func orDash[T ~string](p *T) string {
	if p == nil || *p == "" {
		return "-"
	}
	return string(*p)
}

// done tells that something was done; as JSON there is nothing to tell.
func (c *cli) done(w io.Writer, format string, args ...any) error {
	if c.json {
		return printJSON(w, struct{}{})
	}
	_, err := fmt.Fprintf(w, format+"\n", args...)
	return err
}
