package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holm/approvals"
	"holm/internal/httpapi"
	"holm/policy"
)

func (c *cli) newApproveCommand(agent *string) *cobra.Command {
	var single, once, always, exact bool
	review := httpapi.Review{Decision: "approved"}
	cmd := &cobra.Command{
		Use: "approve NUMBER", Short: "Approve a request", Args: exactly("NUMBER"),
		Long: "Approve a request: this call alone (--single), the same call for the rule's time (--once, the default), or always\n" +
			"(--always: this tool with any arguments; with --exact: these arguments alone).",
		Example: "  holm approvals approve 12 --single",
		RunE: func(cmd *cobra.Command, args []string) error {
			resolution, err := chooseResolution(review.Resolution, single, once, always)
			if err != nil {
				return err
			}
			if exact && resolution != policy.Persistent {
				return usagef("--exact goes with --always")
			}
			review.Resolution = string(resolution)
			if exact {
				review.Extent = string(approvals.TheseArguments)
			}
			return c.review(cmd, *agent, args[0], review)
		},
	}
	cmd.Flags().BoolVar(&single, "single", false, "this call alone")
	cmd.Flags().BoolVar(&once, "once", false, "the same call for the rule's time")
	cmd.Flags().BoolVar(&always, "always", false, "this tool for this requester, always")
	cmd.Flags().BoolVar(&exact, "exact", false, "with --always: exactly these arguments")
	cmd.Flags().StringVar(&review.Resolution, "resolution", "", "single, once or persistent, in one flag")
	cmd.Flags().StringVar(&review.Reason, "reason", "", "reaches the requester; some rules want one")
	return cmd
}

// chooseResolution gives the one that was named, or none.
func chooseResolution(named string, single, once, always bool) (policy.Resolution, error) {
	var chosen []policy.Resolution
	for _, one := range []struct {
		given      bool
		resolution policy.Resolution
	}{
		{single, policy.Single}, {once, policy.Once}, {always, policy.Persistent}, {named != "", policy.Resolution(named)},
	} {
		if one.given {
			chosen = append(chosen, one.resolution)
		}
	}
	switch len(chosen) {
	case 0:
		return "", nil
	case 1:
		return chosen[0], nil
	}
	return "", usagef("give one of --single, --once, --always and --resolution")
}

func (c *cli) newRejectCommand(agent *string) *cobra.Command {
	review := httpapi.Review{Decision: "rejected"}
	cmd := &cobra.Command{
		Use: "reject NUMBER", Short: "Reject a request", Args: exactly("NUMBER"),
		Example: "  holm approvals reject 12 --reason \"not on a Friday\"\n" +
			"  holm approvals reject 12 --try-differently --reason \"a branch, not main\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.review(cmd, *agent, args[0], review)
		},
	}
	cmd.Flags().StringVar(&review.Reason, "reason", "", "reaches the requester and the agent; some rules want one")
	cmd.Flags().BoolVar(&review.TryDifferently, "try-differently", false, "ask the agent for another proposal")
	return cmd
}

func (c *cli) newCancelCommand(agent *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "cancel NUMBER", Short: "Take a request back that nobody has answered", Args: exactly("NUMBER"),
		Example: "  holm approvals cancel 12 --reason \"asked by mistake\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			holm, name, err := c.connectFor(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			r, err := holm.Cancel(cmd.Context(), name, requestName(args[0]), reason)
			if err != nil {
				return elsewhere(err, *agent, name)
			}
			return c.print(cmd, r, func(w io.Writer) {
				fmt.Fprintf(w, "Request %d is cancelled: %s\n", r.ShortID, oneLine(r.ResourceKey))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reaches the requester and the agent")
	return cmd
}

func (c *cli) review(cmd *cobra.Command, agent, request string, review httpapi.Review) error {
	holm, name, err := c.connectFor(cmd.Context(), agent)
	if err != nil {
		return err
	}
	r, err := holm.Review(cmd.Context(), name, requestName(request), review)
	if err != nil {
		return elsewhere(err, agent, name)
	}
	return c.print(cmd, r, func(w io.Writer) {
		if r.Status == approvals.Pending {
			fmt.Fprintf(w, "Request %d has %s: %s\n", r.ShortID, tally(r), oneLine(r.ResourceKey))
			return
		}
		if r.Status == approvals.Rejected {
			fmt.Fprintf(w, "Request %d is %s: %s\n", r.ShortID, rejection(r), oneLine(r.ResourceKey))
			return
		}
		fmt.Fprintf(w, "Request %d is approved: %s, %s\n", r.ShortID, oneLine(r.ResourceKey), resolutionText(r))
	})
}

// rejection says how a request was rejected.
func rejection(r approvals.Wire) string {
	if r.TryDifferently {
		return "rejected, to be tried differently"
	}
	return "rejected"
}

// tally says how many approvals a request has of those it needs.
func tally(r approvals.Wire) string {
	counted := 0
	for _, v := range r.Votes {
		if v.Counts {
			counted++
		}
	}
	return fmt.Sprintf("%d of %d approvals", counted, r.Quorum)
}

// resolutionText says what an approval is good for.
func resolutionText(r approvals.Wire) string { return allows(*r.Resolution, r.Extent, r.TTLMinutes) }

// allows says what an approval is good for in the words of cards and flags.
func allows(resolution policy.Resolution, extent *approvals.Extent, minutes int) string {
	switch {
	case resolution == policy.Single:
		return "this call"
	case resolution == policy.Once:
		return fmt.Sprintf("for %d min", minutes)
	case extent != nil && *extent == approvals.TheseArguments:
		return "always, these arguments"
	}
	return "always, this tool"
}
