package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holm/internal/client"
	"holm/internal/importer/steerholm"
)

func (c *cli) newImportCommand() *cobra.Command {
	return group("import", "Take over the set-up of another product", c.newImportSteerholmCommand())
}

func (c *cli) newImportSteerholmCommand() *cobra.Command {
	var dryRun bool
	var keyring string
	cmd := &cobra.Command{
		Use:   "steerholm DIR",
		Short: "Take over servers, agents, keys and policies of a Steerholm folder",
		Long: "Take over a Steerholm data folder (config.json schemas 0 to 2 and both policy forms), usually ~/.steerholm.\n" +
			"Access keys go on working. The report says what was translated and where Steerholm's meaning differed; no\n" +
			"translated rule lets through what Steerholm refused, but for spellings of paths. What is there already stays.",
		Example: "  holm import steerholm ~/.steerholm --dry-run\n  holm import steerholm ~/.steerholm",
		Args:    exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			im, err := readSteerholm(args[0], keyring)
			if err != nil {
				return err
			}
			var taken []string
			if !dryRun {
				holm, _, err := c.connect()
				if err != nil {
					return err
				}
				if taken, err = takeOver(cmd.Context(), holm, im); err != nil {
					return err
				}
			}
			return c.print(cmd, map[string]any{"schema": im.Schema, "findings": im.Findings, "notes": taken}, func(w io.Writer) {
				if err := im.WriteReport(w); err != nil {
					return
				}
				for _, note := range taken {
					fmt.Fprintln(w, note)
				}
				if dryRun {
					fmt.Fprintln(w, "Nothing was stored: --dry-run.")
				}
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "report only, store nothing")
	cmd.Flags().StringVar(&keyring, "keyring-file", "", "file of Python's keyring, for schemas 0 and 1; default ~/.local/share/python_keyring/keyring_pass.cfg")
	return cmd
}

func readSteerholm(dir, keyring string) (*steerholm.Import, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	lookup, err := plainKeyring(keyring)
	if err != nil {
		return nil, err
	}
	return steerholm.Read(root.FS(), lookup)
}

// plainKeyring reads the keyring file; one that nobody named may be missing.
func plainKeyring(path string) (steerholm.Keyring, error) {
	named := path != ""
	if !named {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil
		}
		path = filepath.Join(home, ".local", "share", "python_keyring", "keyring_pass.cfg")
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return steerholm.PlainKeyring(string(text)), nil
}

// takeOver stores what was read. It can be run again: what is there already
// stays, and is named.
func takeOver(ctx context.Context, holm *client.Client, im *steerholm.Import) (notes []string, err error) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, s := range im.Servers {
		added, err := holm.AddServer(ctx, client.Server{Name: s.Name, Command: s.Command, URL: s.URL, Env: s.Env, Headers: s.Headers})
		if exists(err) {
			note("server %s was there already and stays as it is", s.Name)
		} else if err != nil {
			return notes, fmt.Errorf("server %s: %w", s.Name, err)
		}
		for _, row := range added.Rules {
			note("server %s: a rule holds for it already: %s", s.Name, oneLine(row.Words()))
		}
	}
	for _, a := range im.Agents {
		if err := takeOverAgent(ctx, holm, a, note); err != nil {
			return notes, fmt.Errorf("agent %s: %w", a.Name, err)
		}
	}
	return notes, nil
}

func takeOverAgent(ctx context.Context, holm *client.Client, a steerholm.Agent, note func(string, ...any)) error {
	made, err := holm.AddAgent(ctx, a.Name)
	switch {
	case exists(err):
		note("agent %s was there already; its rows are added", a.Name)
	case err != nil:
		return err
	case a.Key == nil:
		note("agent %s has a new key, shown only now: %s", a.Name, made.Key)
	default:
		// Its own key is the one it has; the one just made is not needed.
		if err := holm.RevokeKey(ctx, strings.Split(made.Key, "_")[2]); err != nil {
			return err
		}
	}
	if a.Key != nil {
		if err := holm.ImportKey(ctx, a.Name, a.Key.Prefix, a.Key.Hash); exists(err) {
			note("agent %s: a key that begins with %s is there already; should it be another's, holm rotate agent %s makes a new one", a.Name, a.Key.Prefix, a.Name)
		} else if err != nil {
			return err
		}
	}
	for _, row := range a.Rows {
		_, err := holm.SetPolicy(ctx, a.Name, client.Policy{
			ResourceType: row.ResourceType, ResourceKey: row.ResourceKey, Effect: row.Effect,
			Grants: row.Grants, Scope: row.Scope, Note: row.Note,
		})
		if err != nil {
			return fmt.Errorf("row on %s: %w", row.ResourceKey, err)
		}
	}
	return nil
}

func exists(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Code == "exists"
}
