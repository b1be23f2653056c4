package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"holm/internal/db/embedded"
)

// maxSlots bounds how many test processes may run servers at once, and so the disk space kept.
const maxSlots = 64

func start(ctx context.Context) (*server, error) {
	if address := os.Getenv("HOLM_TEST_DATABASE_URL"); address != "" {
		return newServer(ctx, address, nil)
	}
	root, err := slotRoot()
	if err != nil {
		return nil, err
	}
	for n := range maxSlots {
		found, err := startSlot(ctx, filepath.Join(root, strconv.Itoa(n)))
		if !errors.Is(err, embedded.ErrInUse) {
			return found, err
		}
	}
	return nil, fmt.Errorf("all %d test servers under %s are in use", maxSlots, root)
}

func startSlot(ctx context.Context, dir string) (*server, error) {
	own, err := embedded.Start(ctx, embedded.Config{DataDir: dir, BinDir: os.Getenv("HOLM_PG_BIN"), Fast: true})
	if err != nil {
		return nil, err
	}
	ready, err := newServer(ctx, own.URL(), own)
	if err != nil {
		return nil, errors.Join(err, own.Stop(context.WithoutCancel(ctx)))
	}
	return ready, nil
}

// slotRoot is this user's folder of test servers. It lies in /tmp, because a temporary folder of
// root's own may be closed to the server's user.
func slotRoot() (string, error) {
	root := fmt.Sprintf("/tmp/holm-test-%d", os.Geteuid())
	if err := os.Mkdir(root, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make folder of test servers: %w", err)
	}
	info, err := os.Lstat(root)
	if err != nil {
		return "", fmt.Errorf("folder of test servers: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s belongs to somebody else; remove it", root)
	}
	return root, os.Chmod(root, 0o711)
}
