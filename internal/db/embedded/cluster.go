package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	superuser  = "holm"
	stagingTag = "postgres.init-"
)

// cluster is the folder of database files and the user that owns it.
type cluster struct {
	root    string
	account account
}

func openCluster(dataDir string) (cluster, error) {
	if dataDir == "" {
		return cluster{}, errors.New("no data folder given")
	}
	root, err := filepath.Abs(dataDir)
	if err != nil {
		return cluster{}, fmt.Errorf("data folder: %w", err)
	}
	if err := makeDataDir(root); err != nil {
		return cluster{}, fmt.Errorf("make data folder: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return cluster{}, fmt.Errorf("data folder: %w", err)
	}
	c := cluster{root: root}
	c.account = chooseAccount(c.path())
	return c, nil
}

func (c cluster) path() string     { return filepath.Join(c.root, "postgres") }
func (c cluster) lockPath() string { return filepath.Join(c.root, "postgres.lock") }

// major is the PostgreSQL version the files were made by, 0 when there are none yet.
func (c cluster) major() int {
	text, err := os.ReadFile(filepath.Join(c.path(), "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return major
}

// create makes the database files unless they exist. They are made in a folder of another name,
// which is renamed when complete, so that a start that was cut off leaves no half of a cluster.
func (c cluster) create(ctx context.Context, bin binaries, fast bool) error {
	if err := c.removeStaging(); err != nil {
		return err
	}
	if info, err := os.Stat(c.path()); err == nil {
		return c.check(info)
	}
	staging, err := os.MkdirTemp(c.root, stagingTag)
	if err != nil {
		return fmt.Errorf("make folder for database files: %w", err)
	}
	if err := errors.Join(os.Chmod(staging, 0o700), c.account.give(staging)); err != nil {
		return err
	}
	if err := c.initdb(ctx, bin, staging, fast); err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	if err := os.Rename(staging, c.path()); err != nil {
		return fmt.Errorf("put database files in place: %w", err)
	}
	return nil
}

// discard removes the database files.
func (c cluster) discard() error {
	if err := os.RemoveAll(c.path()); err != nil {
		return fmt.Errorf("remove database files: %w", err)
	}
	return nil
}

// check refuses a folder that is no cluster, or that root's copying has made root's.
func (c cluster) check(info fs.FileInfo) error {
	if c.major() == 0 {
		return fmt.Errorf("%s exists but holds no PostgreSQL database", c.path())
	}
	if uid, _, ok := owner(info); ok && uid != c.account.uid {
		return fmt.Errorf("%s belongs to user id %d, but the server would run as user id %d: change the owner of all files in it", c.path(), uid, c.account.uid)
	}
	return nil
}

func (c cluster) removeStaging() error {
	left, err := filepath.Glob(filepath.Join(globEscape(c.root), stagingTag+"*"))
	if err != nil {
		return fmt.Errorf("look for unfinished database files: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("remove unfinished database files: %w", err)
		}
	}
	return nil
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
