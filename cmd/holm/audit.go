package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"holm/internal/audit"
	"holm/internal/httpapi"
)

func (c *cli) newAuditCommand() *cobra.Command {
	return group("audit", "Check and export the audit log", c.newAuditVerifyCommand(), c.newAuditExportCommand())
}

func (c *cli) newAuditVerifyCommand() *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Check the hash chain of the audit log, or of an export of it",
		Long: "Walk the chain from the first record to the last: each holds the hash of the one before. A record that was\n" +
			"changed, removed, added or moved is named, and the exit code is 1. Removal at the end leaves a shorter chain\n" +
			"that holds; note the head that is printed, somewhere else, and --expect it the next time.\n" +
			"FILE is an export of all agents from the first record on; - is standard input. It needs no server.",
		Example: "  holm audit verify\n  holm audit verify --expect 1200:5f0c…\n  holm audit verify audit.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			anchor, err := readAnchor(expect)
			if err != nil {
				return err
			}
			var report httpapi.AuditReport
			if len(args) == 1 {
				report, err = verifyFile(cmd.InOrStdin(), args[0], anchor)
			} else {
				report, err = c.verifyServer(cmd, expect)
			}
			if err != nil {
				return err
			}
			if err := c.print(cmd, report, func(w io.Writer) { printReport(w, report) }); err != nil {
				return err
			}
			if report.Broken != nil {
				return fmt.Errorf("the audit log is broken: record %d %s", report.Broken.Seq, report.Broken.Reason)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "SEQ:HASH that an earlier verify printed as head")
	return cmd
}

func readAnchor(text string) (a audit.Anchor, err error) {
	if text == "" {
		return a, nil
	}
	if a, err = audit.ParseAnchor(text); err != nil {
		return a, usagef("--expect: %v", err)
	}
	return a, nil
}

func (c *cli) verifyServer(cmd *cobra.Command, expect string) (httpapi.AuditReport, error) {
	holm, _, err := c.connect()
	if err != nil {
		return httpapi.AuditReport{}, err
	}
	return holm.VerifyAudit(cmd.Context(), expect)
}

// maxRecord bounds one line of an export.
const maxRecord = 64 << 20

func verifyFile(in io.Reader, name string, expect audit.Anchor) (report httpapi.AuditReport, err error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return report, err
		}
		defer file.Close()
		in = file
	}
	walk := audit.NewWalk(expect)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRecord)
	for n := 1; lines.Scan() && err == nil; n++ {
		var record audit.Wire
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return report, fmt.Errorf("%s, line %d: no record of an export: %w", name, n, err)
		}
		entry, bad := record.Entry()
		if bad != nil {
			return report, fmt.Errorf("%s, line %d: %w", name, n, bad)
		}
		err = walk.Add(entry)
	}
	if err == nil {
		err = errors.Join(lines.Err(), walk.End())
	}
	var broken *audit.BrokenError
	if errors.As(err, &broken) {
		report.Broken, err = &httpapi.AuditBroken{Seq: broken.Seq, Reason: broken.Reason}, nil
	}
	report.Intact, report.Records = report.Broken == nil, walk.Head().Seq
	if report.Records > 0 {
		report.Head = walk.Head().String()
	}
	return report, err
}

func printReport(w io.Writer, r httpapi.AuditReport) {
	if r.Broken == nil {
		fmt.Fprintf(w, "The audit log is intact: %d records.\n", r.Records)
	} else {
		fmt.Fprintf(w, "%d records hold.\n", r.Records)
	}
	if r.Head != "" {
		fmt.Fprintf(w, "  head     %s\n", r.Head)
	}
	if r.Queued > 0 {
		fmt.Fprintf(w, "  waiting  %d records are not chained yet\n", r.Queued)
	}
}

func (c *cli) newAuditExportCommand() *cobra.Command {
	var agent, output string
	var after int64
	cmd := &cobra.Command{
		Use: "export", Short: "Write the audit log as JSON lines", Args: exactly(),
		Long: "Write one record a line, the oldest first, with its sequence number and hashes. An export of all agents from\n" +
			"the first record on can be checked without the server: holm audit verify FILE.",
		Example: "  holm audit export -o audit.jsonl\n  holm audit export --agent claude --after 1200",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after < 0 {
				return usagef("--after: want a sequence number")
			}
			holm, _, err := c.connect()
			if err != nil {
				return err
			}
			return writeTo(cmd.OutOrStdout(), output, func(w io.Writer) error {
				encoder := json.NewEncoder(w)
				return holm.Audit(cmd.Context(), agent, after, func(record audit.Wire) error { return encoder.Encode(record) })
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "records of one agent alone")
	cmd.Flags().Int64Var(&after, "after", 0, "only what came after the record with this number")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file; it must not exist")
	return cmd
}

// writeTo gives write a new file of the name, or out when there is none. A file
// that could not be written whole is removed.
func writeTo(out io.Writer, name string, write func(io.Writer) error) error {
	if name == "" {
		buffered := bufio.NewWriter(out)
		return errors.Join(write(buffered), buffered.Flush())
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	err = errors.Join(write(buffered), buffered.Flush(), file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
