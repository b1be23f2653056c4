package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
)

// initdb fills dir with an empty cluster. Local connections need no password: the socket lies in
// a folder that only this user can enter, so there is none to leak.
func (c cluster) initdb(ctx context.Context, bin binaries, dir string, fast bool) error {
	args := []string{"-D", dir, "--no-sync", "--locale=C", "--encoding=UTF8", "--auth=trust", "--username=" + superuser}
	if err := c.runInitdb(ctx, bin, dir, args); err != nil {
		return err
	}
	if fast {
		return nil
	}
	// One pass at the end is several times quicker than what initdb does without --no-sync.
	return c.runInitdb(ctx, bin, dir, []string{"-D", dir, "--sync-only"})
}

func (c cluster) runInitdb(ctx context.Context, bin binaries, dir string, args []string) error {
	cmd := exec.Command(bin.initdb, args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	child, err := c.launch(cmd, dir, syscall.SIGTERM)
	if err != nil {
		return err
	}
	select {
	case <-child.done:
	case <-ctx.Done():
		// initdb has children that write to dir; they share its process group and its output, so
		// its end is theirs.
		_ = syscall.Kill(-child.pid(), syscall.SIGKILL)
		<-child.done
		return ctx.Err()
	}
	if child.err != nil {
		return c.explainInitdb(child.err, output.String())
	}
	return nil
}

func (c cluster) explainInitdb(err error, output string) error {
	if strings.Contains(output, "could not look up effective user ID") {
		return fmt.Errorf("user id %d has no entry in the user database (/etc/passwd), which PostgreSQL needs: add one, or set HOLM_DATABASE_URL: %w", c.account.uid, err)
	}
	return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(lastLines(output, 5)))
}

// explainStart names the closed folder when the server's user cannot reach its files or program.
func (c cluster) explainStart(err error, program string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("run %s: %w", program, err)
	}
	for _, path := range []string{c.path(), program} {
		if closed := c.account.barrier(path); closed != "" {
			return fmt.Errorf("user id %d, which the server runs as, cannot enter %s on the way to %s: choose another HOLM_DATA_DIR or HOLM_PG_BIN, or open that folder: %w", c.account.uid, closed, path, err)
		}
	}
	return fmt.Errorf("run %s as user id %d: %w", program, c.account.uid, err)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
