package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"holm/internal/secret"
)

// Files in the data folder that hold the secrets of a first start.
const (
	AdminTokenFile = "admin_token"
	SecretKeyFile  = "secret_key"
)

// WithSecrets gives s with AdminToken and SecretKey: as configured, or from
// the files of the data folder, which are made when missing (0600). Processes
// that start at once on one folder get the same.
func (s Settings) WithSecrets() (Settings, error) {
	for _, one := range []struct {
		value         *string
		file, setting string
	}{
		{&s.AdminToken, AdminTokenFile, "HOLM_ADMIN_TOKEN"},
		{&s.SecretKey, SecretKeyFile, "HOLM_SECRET_KEY"},
	} {
		if *one.value != "" {
			continue
		}
		value, err := ensureSecret(s.DataDir, one.file)
		if err != nil {
			return Settings{}, unusable(one.setting, "%v", err)
		}
		*one.value = value
		if problem := checkSecret(one.file, value); problem != nil {
			return Settings{}, problem
		}
	}
	return s, nil
}

// ReadAdminToken gives the operator's token for the command line: as
// configured, or from the data folder. It is empty when there is none yet.
func (s Settings) ReadAdminToken() (string, error) {
	if s.AdminToken != "" {
		return s.AdminToken, nil
	}
	value, err := readSecret(filepath.Join(s.DataDir, AdminTokenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return value, err
}

func ensureSecret(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	value, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return value, err
	}
	if err := makeDir(dir); err != nil {
		return "", err
	}
	// The link appears with the whole content or not at all, and to one process.
	err = create(path, []byte(secret.Token()+"\n"), os.Link)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	return readSecret(path)
}

func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by other users; run chmod 600 on it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return "", fmt.Errorf("%s is empty; remove it and a new one is made", path)
	}
	return value, nil
}

// create writes a file of mode 0600 beside path and puts it there with place.
func create(path string, content []byte, place func(from, to string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return place(file.Name(), path)
}

// makeDir makes the data folder: closed to others, except that for root the
// database's own user must be able to pass through.
func makeDir(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	return os.MkdirAll(dir, mode)
}
