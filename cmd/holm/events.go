package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/session"
)

func (c *cli) newEventsCommand() *cobra.Command {
	var e client.Events
	cmd := &cobra.Command{
		Use: "events AGENT", Short: "Show what happens in the sessions of an agent", Args: exactly("AGENT"),
		Long: "Show the events of an agent's sessions, or of one. With -f further events appear as they happen; a\n" +
			"lost connection is taken up again where it broke. --json prints one object a line.",
		Example: "  holm events claude -f\n  holm events claude --session key:abcdefgh --after 1200 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			e.Agent = args[0]
			e.Interrupted = func(err error) {
				fmt.Fprintf(cmd.ErrOrStderr(), "holm: %s; trying again\n", oneLine(err.Error()))
			}
			return holm.Read(cmd.Context(), e, func(event session.Event) error {
				return c.printEvent(cmd.OutOrStdout(), event)
			})
		},
	}
	cmd.Flags().StringVar(&e.SessionID, "session", "", "one session alone")
	cmd.Flags().BoolVarP(&e.Follow, "follow", "f", false, "stay, and show what comes")
	cmd.Flags().Int64Var(&e.After, "after", 0, "only what came after the event with this id")
	return cmd
}

func (c *cli) printEvent(w io.Writer, event session.Event) error {
	if c.json {
		return json.NewEncoder(w).Encode(event)
	}
	var payload bytes.Buffer
	if err := json.Compact(&payload, event.Payload); err != nil {
		return err
	}
	id := "-"
	if event.ID != 0 {
		id = strconv.FormatInt(event.ID, 10)
	}
	_, err := fmt.Fprintf(w, "%s  %s  %s  %s  %s\n", id, when(event.CreatedAt), oneLine(event.SessionID), oneLine(event.Type), oneLine(payload.String()))
	return err
}
