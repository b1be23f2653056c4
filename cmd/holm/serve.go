package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"holm/internal/db"
	"holm/internal/settings"
)

// newServeCommand runs the gateway, the bot and the workers.
func newServeCommand(flags *settings.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway, the approval bot and the API",
		Long: "Run everything in one process. Without HOLM_DATABASE_URL it starts a PostgreSQL of its own\n" +
			"in the data folder and stops it at the end.",
		Example: "  holm serve\n  HOLM_TELEGRAM_TOKEN=… HOLM_OWNERS=telegram:123456 holm serve",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := settings.Load(*flags)
			if err != nil {
				return err
			}
			if s, err = s.WithSecrets(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			a := &app{settings: s, log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))}
			return a.run(ctx, func(url string) {
				fmt.Fprintf(cmd.OutOrStdout(), "Holm is ready at %s (MCP: %s/mcp)\n", url, url)
			})
		},
	}
	flags.AddServer(cmd.Flags())
	return cmd
}

// newMigrateCommand brings an operator's own database to this version.
func newMigrateCommand(flags *settings.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database of HOLM_DATABASE_URL to this version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := settings.Load(*flags)
			if err != nil {
				return err
			}
			if s.DatabaseURL == "" {
				return &settings.Error{Setting: "HOLM_DATABASE_URL", Message: "is not set; the embedded database is migrated by holm serve"}
			}
			return migrate(cmd.Context(), s.DatabaseURL, func() {
				fmt.Fprintln(cmd.OutOrStdout(), "The database is up to date.")
			})
		},
	}
	flags.AddServer(cmd.Flags())
	return cmd
}

func migrate(ctx context.Context, url string, done func()) error {
	pool, err := db.Open(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := db.Migrate(ctx, pool); err != nil {
		return err
	}
	done()
	return nil
}
