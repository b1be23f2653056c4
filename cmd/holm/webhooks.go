package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/webhook"
)

// newWebhooksCommand manages the addresses that are told of an agent's events.
func (c *cli) newWebhooksCommand() *cobra.Command {
	cmd := group("webhooks", "Have programs elsewhere told of an agent's events",
		agentList(c, "List webhooks and how they do", (*client.Client).Webhooks, printWebhooks), c.newWebhooksAddCommand(),
		c.newPeopleChange("test AGENT WEBHOOK", "Send a test event now", "Webhook %[2]s took the test event.",
			func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
				return nil, holm.TestWebhook(ctx, a[0], a[1])
			}),
		c.newPeopleChange("remove AGENT WEBHOOK", "Forget a webhook", "Webhook %[2]s is removed.",
			func(ctx context.Context, holm *client.Client, a []string) (aftermath, error) {
				return nil, holm.RemoveWebhook(ctx, a[0], a[1])
			}))
	cmd.Aliases = []string{"webhook"}
	return cmd
}

func printWebhooks(w io.Writer, agent string, hooks []webhook.Webhook) {
	if len(hooks) == 0 {
		fmt.Fprintf(w, "No webhooks. Add one: holm webhooks add %s https://example.com/holm\n", agent)
		return
	}
	table(w, "WEBHOOK STATE URL EVENTS", func(row func(...any)) {
		for _, h := range hooks {
			row(h.ID, webhookState(h), h.URL, strings.Join(h.Events, ","))
		}
	})
}

func webhookState(h webhook.Webhook) string {
	switch {
	case h.DisabledAt != nil:
		return "disabled: " + h.LastError
	case h.LastError != "":
		return "failing: " + h.LastError
	case h.DeliveredAt != nil:
		return "delivers"
	}
	return "not used yet"
}

func (c *cli) newWebhooksAddCommand() *cobra.Command {
	var events []string
	cmd := &cobra.Command{
		Use: "add AGENT URL", Short: "Have an address told of an agent's events and show the signing secret, once", Args: exactly("AGENT", "URL"),
		Long: "Each event is posted as JSON, signed as the Standard Webhooks specification says, at least once, and\n" +
			"tried again for about half a day. Without --event the address is told of the life of approval requests.",
		Example: "  holm webhooks add main https://example.com/holm --event approval_requested --event approval_resolved",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			made, err := holm.AddWebhook(cmd.Context(), args[0], args[1], events)
			if err != nil {
				return err
			}
			return c.print(cmd, made, func(w io.Writer) {
				fmt.Fprintf(w, "Webhook %s of agent %s is told of: %s.\nIts signing secret, shown only now:\n  %s\n",
					made.ID, made.AgentID, strings.Join(made.Events, ", "), made.Secret)
			})
		},
	}
	cmd.Flags().StringArrayVar(&events, "event", nil, "a type of event; may be repeated")
	return cmd
}
