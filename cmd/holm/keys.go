package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/identity"
)

func (c *cli) newAddKeyCommand() *cobra.Command {
	var user, expires string
	cmd := &cobra.Command{
		Use:   "key AGENT",
		Short: "Make a further key for an agent and show it, once",
		Long: "Make a further key. With --user, calls with it are made for that person and decided by their role;\n" +
			"the person is named by id, by identity (telegram:123456) or by name.",
		Example: "  holm add key claude --expires 90d\n  holm add key claude --user telegram:123456",
		Args:    exactly("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := parseExpiry(expires, time.Now())
			if err != nil {
				return err
			}
			holm, s, err := c.connect()
			if err != nil {
				return err
			}
			if user, err = findUser(cmd.Context(), holm, args[0], user); err != nil {
				return err
			}
			made, err := holm.AddKey(cmd.Context(), args[0], user, until)
			if err != nil {
				return err
			}
			return c.print(cmd, made, func(w io.Writer) {
				fmt.Fprintf(w, "A key of agent %s was made.\n", args[0])
				printKey(w, made.Key, address(holm, s.PublicURL))
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the person on whose behalf calls with it are made")
	cmd.Flags().StringVar(&expires, "expires", "", "when it stops working: 90d, 12h or 2027-01-31; default never")
	return cmd
}

// parseExpiry reads a span of days or hours, or a date; nil for never.
func parseExpiry(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if date, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return &date, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			until := now.AddDate(0, 0, n)
			return &until, nil
		}
	}
	if span, err := time.ParseDuration(text); err == nil && span > 0 {
		until := now.Add(span)
		return &until, nil
	}
	return nil, usagef("--expires: %q is neither a span such as 90d or 12h nor a date such as 2027-01-31", text)
}

// findUser gives the id of the member that name means. What no member is
// called is taken for an id.
func findUser(ctx context.Context, holm *client.Client, agent, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	members, err := holm.Members(ctx, agent)
	if err != nil {
		return "", err
	}
	var found []string
	for _, m := range members {
		if m.UserID == name || slices.Contains(m.Identities, name) {
			return m.UserID, nil
		}
		if m.Name == name {
			found = append(found, m.UserID)
		}
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return "", usagef("--user: %d people are called %q; name one by id: %s", len(found), name, strings.Join(found, ", "))
}

func (c *cli) newRotateCommand() *cobra.Command {
	return group("rotate", "Replace the keys of an agent", &cobra.Command{
		Use: "agent NAME", Short: "Revoke all keys of an agent and show a new one, once",
		Example: "  holm rotate agent main", Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, s, err := c.connect()
			if err != nil {
				return err
			}
			made, err := holm.RotateKeys(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(cmd, made, func(w io.Writer) {
				fmt.Fprintf(w, "All earlier keys of agent %s are revoked.\n", args[0])
				printKey(w, made.Key, address(holm, s.PublicURL))
			})
		},
	})
}

func (c *cli) newRevokeKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "key PREFIX", Short: "Revoke one key", Args: exactly("PREFIX"),
		Long:    "Revoke one key. Its prefix stands between holm_sk_ and the next _; holm show agent lists them.",
		Example: "  holm revoke key abcdefgh",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			if err := holm.RevokeKey(cmd.Context(), keyPrefix(args[0])); err != nil {
				return err
			}
			return c.done(cmd.OutOrStdout(), "The key is revoked.")
		},
	}
}

// keyPrefix takes the prefix out of a whole key, so that the secret part is
// not sent or logged when somebody pastes all of it.
func keyPrefix(text string) string {
	prefix, _, _ := strings.Cut(strings.TrimPrefix(text, identity.KeyScheme), "_")
	return prefix
}
