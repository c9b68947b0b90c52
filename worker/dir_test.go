package worker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

func TestDirIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	d, err := openDir(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openDir(path)
	if !errors.Is(err, ErrDirInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("second opening: %v", err)
	}
	d.close()
	again, err := openDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if !bytes.Equal(again.proof, d.proof) || len(d.proof) != 32 {
		t.Errorf("the proof changed from %x to %x", d.proof, again.proof)
	}
	if d.starts != 1 || again.starts != 2 {
		t.Errorf("starts are counted as %d, %d", d.starts, again.starts)
	}
}

// TestDirIsHeldByOneProcess starts this test binary as the second process.
func TestDirIsHeldByOneProcess(t *testing.T) {
	const name = "TASKRT_TEST_WORKER_DIR"
	if path := os.Getenv(name); path != "" {
		if _, err := openDir(path); !errors.Is(err, ErrDirInUse) {
			t.Errorf("second process: %v", err)
		}
		return
	}
	path := t.TempDir()
	d, err := openDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	cmd := leash.Command(os.Args[0], "-test.run=^TestDirIsHeldByOneProcess$")
	cmd.Env = append(os.Environ(), name+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDirIsPrivate(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for name, want := range map[string]os.FileMode{"": 0o700, "secret": 0o600, "lock": 0o600} {
		st, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != want {
			t.Errorf("%q has mode %o, want %o", name, st.Mode().Perm(), want)
		}
	}
	secret, err := os.ReadFile(filepath.Join(path, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(secret, d.proof) {
		t.Error("the proof is the secret")
	}
}

func TestDamagedCount(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "starts"), []byte("-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDir(path); err == nil || !strings.Contains(err.Error(), "starts") {
		t.Errorf("got %v", err)
	}
}

func TestDamagedSecret(t *testing.T) {
	path := t.TempDir()
	name := filepath.Join(path, "secret")
	for _, text := range []string{"", "xyz", "abcd"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openDir(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("secret %q: %v", text, err)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(path) // the refused process holds no lock
	if err != nil {
		t.Fatal(err)
	}
	d.close()
}

func TestNewRefusesAHeldDirectory(t *testing.T) {
	b := &bench{hub: &hub{t: t}}
	cfg := Config{ID: "w1", Dir: t.TempDir(), Dial: b.hub, Modules: b, Runner: b}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); !errors.Is(err, ErrDirInUse) {
		t.Errorf("got %v", err)
	}
	w.Close()
	w.Close()
	if err := w.Run(t.Context()); err == nil {
		t.Error("ran after Close")
	}
	w, err = New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, edit := range []func(*Config){
		func(c *Config) { c.ID = "" }, func(c *Config) { c.Dir = "" }, func(c *Config) { c.Runner = nil },
		func(c *Config) { c.Slots = -1 }, func(c *Config) { c.DrainTime = -1 }, func(c *Config) { c.PrepareWorkers = -1 },
	} {
		bad := cfg
		edit(&bad)
		if _, err := New(bad); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}

// TestCopyProvesNothing: a copy of a worker's directory has another secret, so it does not end the session of the original, whose lock it cannot
// see (SPEC L6). The original keeps its secret, also after it was moved on its file system.
func TestCopyProvesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	d, err := openDir(path)
	if err != nil {
		t.Fatal(err)
	}
	d.close()
	copied := filepath.Join(t.TempDir(), "w")
	if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	other, err := openDir(copied)
	if err != nil {
		t.Fatal(err)
	}
	other.close()
	if bytes.Equal(other.proof, d.proof) {
		t.Error("a copy proves what the original proves")
	}
	again, err := openDir(copied)
	if err != nil {
		t.Fatal(err)
	}
	again.close()
	if !bytes.Equal(again.proof, other.proof) {
		t.Error("the copy draws a secret each time")
	}
	moved := path + "2"
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	same, err := openDir(moved)
	if err != nil {
		t.Fatal(err)
	}
	same.close()
	if !bytes.Equal(same.proof, d.proof) {
		t.Error("the original has another secret after a rename")
	}
}
