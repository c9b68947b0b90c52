package trust

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTokenFile: a client's token is the one that is in the file now, and the former one while the file is being written (SPEC A3, A4).
func TestTokenFile(t *testing.T) {
	first, second := DrawToken().Text(), DrawToken().Text()
	name := file(t, first)
	f, err := OpenTokenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	is := func(what, want string) {
		t.Helper()
		if got, err := f.Text(); got != want || err != nil {
			t.Errorf("%s: another token, %v", what, err)
		}
	}
	is("at first", first)
	write(t, name, second)
	is("written anew", second)
	write(t, name)
	is("cut off, as by a shell's >", second)
	write(t, name, first)
	is("written to the end", first)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, long, long); err != nil {
		t.Fatal(err)
	}
	is("of long ago", first)
	if f.read == nil {
		t.Error("a file of long ago is read for each request")
	}
	next := filepath.Join(filepath.Dir(name), "next")
	write(t, next, second)
	if err := os.Chtimes(next, long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, name); err != nil {
		t.Fatal(err)
	}
	is("another file of the same size and time", second)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	is("gone", second)
}

// TestPipeWithToken: a pipe is read once.
func TestPipeWithToken(t *testing.T) {
	token := DrawToken().Text()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(name, []byte(token+"\n"), 0o600) }()
	f, err := OpenTokenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := f.Text(); got != token || err != nil {
			t.Errorf("another token, %v", err)
		}
	}
}

// TestNoTokenFile: what is in a file must be a token, and nobody else may read it.
func TestNoTokenFile(t *testing.T) {
	s := Draw()
	open := DrawToken().Text()
	others := file(t, open)
	if err := os.Chmod(others, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		file(t, s.Text()):                     "taskrt token root derives",
		file(t, s.Worker([]Secret{s}).Text()): "taskrt worker takes it",
		file(t, open[:20]):                    "checksum",
		file(t):                               "no secret of taskrt",
		others:                                "chmod 600 " + others,
		filepath.Join(t.TempDir(), "none"):    "no such file",
	} {
		_, err := OpenTokenFile(name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q of %s", err, want, name)
		}
	}
}
