package settings_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"holm/internal/settings"
)

func TestSecretsAreMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	s := settings.Settings{DataDir: dir}
	const starts = 16
	got := make([]settings.Settings, starts)
	var wg sync.WaitGroup
	for i := range starts {
		wg.Go(func() {
			var err error
			if got[i], err = s.WithSecrets(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, one := range got {
		if one.AdminToken != got[0].AdminToken || one.SecretKey != got[0].SecretKey {
			t.Fatal("two starts at once have different secrets")
		}
	}
	if len(got[0].AdminToken) < 32 || got[0].AdminToken == got[0].SecretKey {
		t.Errorf("admin token %q, secret key %q", got[0].AdminToken, got[0].SecretKey)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v; want the two files", entries, err)
	}
	for _, entry := range entries {
		if info, _ := entry.Info(); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
	}
	if token, err := s.ReadAdminToken(); err != nil || token != got[0].AdminToken {
		t.Errorf("ReadAdminToken = %q, %v", token, err)
	}
}

func TestConfiguredSecretsMakeNoFile(t *testing.T) {
	dir := t.TempDir()
	s, err := settings.Settings{DataDir: dir, AdminToken: "a-configured-token", SecretKey: "a-configured-key"}.WithSecrets()
	if err != nil || s.AdminToken != "a-configured-token" || s.SecretKey != "a-configured-key" {
		t.Fatalf("got %+v, %v", s, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the folder holds %v", entries)
	}
}

func TestSecretFileForAllIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, settings.AdminTokenFile)
	write(t, path, "a-token-that-all-can-read")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (settings.Settings{DataDir: dir}).WithSecrets(); err == nil {
		t.Error("WithSecrets took it")
	}
	if _, err := (settings.Settings{DataDir: dir}).ReadAdminToken(); err == nil {
		t.Error("ReadAdminToken took it")
	}
}

func TestEmptySecretFileIsNoSecret(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, settings.AdminTokenFile), "")
	s, err := settings.Settings{DataDir: dir}.WithSecrets()
	if err == nil {
		t.Errorf("got the token %q", s.AdminToken)
	}
}

func TestAnnounce(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := settings.FindLocalServer(dir); ok || err != nil {
		t.Fatalf("before: %v, %v", ok, err)
	}
	withdraw, err := settings.Announce(dir, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	found, ok, err := settings.FindLocalServer(dir)
	if want := (settings.LocalServer{URL: "http://127.0.0.1:1", PID: os.Getpid()}); !ok || err != nil || found != want {
		t.Fatalf("got %+v, %v, %v", found, ok, err)
	}
	if err := withdraw(); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := settings.FindLocalServer(dir); ok {
		t.Error("the note is still there")
	}
}

func TestWithdrawLeavesTheNoteOfAnother(t *testing.T) {
	dir := t.TempDir()
	first, err := settings.Announce(dir, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Announce(dir, "http://127.0.0.1:2"); err != nil {
		t.Fatal(err)
	}
	if err := first(); err != nil {
		t.Fatal(err)
	}
	if found, ok, _ := settings.FindLocalServer(dir); !ok || found.URL != "http://127.0.0.1:2" {
		t.Errorf("got %+v, %v", found, ok)
	}
}

func TestDeadServerIsNotFound(t *testing.T) {
	dir := t.TempDir()
	dead, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dead.Wait(); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(dir, "server.json")
	write(t, note, `{"url":"http://127.0.0.1:1","pid":`+strconv.Itoa(dead.Pid)+`}`)
	if _, ok, err := settings.FindLocalServer(dir); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	write(t, note, `{"url"`)
	if _, _, err := settings.FindLocalServer(dir); err == nil {
		t.Error("a note that cannot be read passes")
	}
}
