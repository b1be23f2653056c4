package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// MinMajor is the oldest PostgreSQL version Holm works with.
const MinMajor = 14

// ErrNoBinaries means that no usable PostgreSQL programs were found. The error's text says what
// to install or set instead.
var ErrNoBinaries = errors.New("no usable PostgreSQL programs found")

const advice = "install PostgreSQL (Debian, Ubuntu: apt install postgresql; Fedora: dnf install postgresql-server; " +
	"Alpine: apk add postgresql; macOS: brew install postgresql@17), name the folder of initdb and postgres in " +
	"HOLM_PG_BIN, set HOLM_DATABASE_URL to a server that runs already, or use docker compose up"

// binFolders are the places where packages put the server programs.
var binFolders = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/bin",                                           // Fedora, RHEL, Arch
	"/usr/pgsql-*/bin",                                   // PGDG rpm
	"/usr/lib/postgresql*/bin",                           // openSUSE
	"/usr/libexec/postgresql*",                           // Alpine
	"/usr/local/bin",                                     // FreeBSD, built from source
	"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",                    // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",    // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/Library/PostgreSQL/*/bin",                          // EDB installer
}

type binaries struct {
	initdb, postgres string
	major            int
}

// findBinaries returns programs of the version that made the existing files, else the newest. It
// looks in dir only, unless dir is empty.
func (c cluster) findBinaries(ctx context.Context, dir string) (binaries, error) {
	wanted := c.major()
	var best binaries
	for _, folder := range searchFolders(dir) {
		found, ok := inspect(ctx, folder)
		if !ok || found.major < MinMajor || (wanted != 0 && found.major != wanted) {
			continue
		}
		if found.major > best.major {
			best = found
		}
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, err
	}
	if best.major == 0 {
		return binaries{}, c.missing(dir, wanted)
	}
	return best, nil
}

func (c cluster) missing(dir string, wanted int) error {
	what := fmt.Sprintf("PostgreSQL %d or newer is needed", MinMajor)
	if wanted != 0 {
		what = fmt.Sprintf("the files in %s were made by PostgreSQL %d, and only that version can use them", c.path(), wanted)
	}
	if dir != "" {
		return fmt.Errorf("%w in HOLM_PG_BIN=%s: %s", ErrNoBinaries, dir, what)
	}
	return fmt.Errorf("%w: %s: %s", ErrNoBinaries, what, advice)
}

func searchFolders(dir string) []string {
	if dir != "" {
		return []string{dir}
	}
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, pattern := range binFolders {
		// The patterns are constants; a malformed one would fail every test.
		matches, _ := filepath.Glob(pattern)
		folders = append(folders, matches...)
	}
	return folders
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

func inspect(ctx context.Context, folder string) (binaries, bool) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return binaries{}, false
	}
	found := binaries{initdb: filepath.Join(folder, "initdb"), postgres: filepath.Join(folder, "postgres")}
	for _, path := range []string{found.initdb, found.postgres} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			return binaries{}, false
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, found.postgres, "--version").Output()
	match := versionLine.FindSubmatch(output)
	if err != nil || match == nil {
		return binaries{}, false
	}
	found.major, err = strconv.Atoi(string(match[1]))
	return found, err == nil
}
