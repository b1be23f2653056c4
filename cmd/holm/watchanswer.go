package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"holm/approvals"
	"holm/internal/client"
	"holm/internal/httpapi"
	"holm/policy"
)

// linesOf reads lines beside the program, until it ends.
func linesOf(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// ask puts the oldest open request on the screen, unless one is there.
func (w *watch) ask() {
	if w.lines == nil || w.asked != "" {
		return
	}
	i := slices.IndexFunc(w.open, func(p approvals.PendingEvent) bool { return !w.skipped[p.RequestID] })
	if i < 0 {
		return
	}
	p := w.open[i]
	w.asked = p.RequestID
	fmt.Fprintf(w.out, "\nRequest #%d: %s\n  from   %s\n  why    %s\n  until  %s\n  arguments\n  %s\n",
		p.ShortID, oneLine(p.ResourceKey), oneLine(p.RequesterName), oneLine(p.Rule), when(p.ExpiresAt), indented(p.Args))
	fmt.Fprintf(w.out, "%s\n", keys(p))
}

// offers tells whether the rule of a request offers a resolution.
func offers(p approvals.PendingEvent, r policy.Resolution) bool {
	return slices.Contains(p.Resolutions, r)
}

// keys are what may be typed about a request.
func keys(p approvals.PendingEvent) string {
	var all []string
	if offers(p, policy.Single) {
		all = append(all, "[a] approve this call")
	}
	if offers(p, policy.Once) {
		all = append(all, fmt.Sprintf("[o] for %d min", p.TTLMinutes))
	}
	if offers(p, policy.Persistent) {
		all = append(all, "[p] always", "[e] always with these arguments")
	}
	return strings.Join(append(all, "[r] reject", "[d] try differently", "[s] skip"), "  ")
}

// typed takes a line as the answer to the question on the screen.
func (w *watch) typed(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case w.overtaken:
		w.overtaken = false
		fmt.Fprintln(w.out, "The question before was answered elsewhere; what you typed was not used.")
		return nil
	case w.asked == "":
		fmt.Fprintln(w.out, "Nothing waits for an answer.")
		return nil
	}
	p := w.open[w.index(w.asked)]
	key, reason, _ := strings.Cut(line, " ")
	if key == "s" {
		w.asked, w.skipped[p.RequestID] = "", true
		fmt.Fprintf(w.out, "Request #%d is left to others.\n", p.ShortID)
		w.ask()
		return nil
	}
	review, ok := answers[key]
	if !ok || review.Resolution != "" && !offers(p, policy.Resolution(review.Resolution)) {
		fmt.Fprintf(w.out, "Not understood. %s\n", keys(p))
		return nil
	}
	review.Reason = strings.TrimSpace(reason)
	r, err := w.holm.Review(ctx, w.agent, p.RequestID, review)
	var problem *client.Problem
	var lost *client.UnreachableError
	if errors.As(err, &problem) || errors.As(err, &lost) {
		fmt.Fprintf(w.errOut, "holm: %s\n", oneLine(err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	if r.Status == approvals.Pending { // others must approve it, too
		fmt.Fprintf(w.out, "Your approval of request #%d counts: %s.\n", r.ShortID, tally(r))
	}
	w.close(p.RequestID) // the event of its end says the rest
	w.overtaken = false
	return nil
}

// answers are the decisions by key.
var answers = map[string]httpapi.Review{
	"a": {Decision: "approved", Resolution: string(policy.Single)},
	"o": {Decision: "approved", Resolution: string(policy.Once)},
	"p": {Decision: "approved", Resolution: string(policy.Persistent)},
	"e": {Decision: "approved", Resolution: string(policy.Persistent), Extent: string(approvals.TheseArguments)},
	"r": {Decision: "rejected"},
	"d": {Decision: "rejected", TryDifferently: true},
}
